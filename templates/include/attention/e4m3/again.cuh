    // Scores again, in f32 and by precise products, where a maximum of one of the warp's rows is so large that neither f16 nor
    // the 13 bits of the first product resolve them: eight keys of the tile at a time. They wait in local memory, and loops are
    // not unrolled: no register is kept for what is rare.
    const auto multiply_again = [&](TileInMemory& exact, float (&highest)[2], const RingPlace<stages>& place, int i) {
      highest[0] = highest[1] = lowest_score;
      // Queries that were shrunk have lost bits, which are tenths of an octave of a large score: they come again, too.
      const auto load_rows = [&](e4m3x4 (&codes)[4], int step) {
        if constexpr (weighs_f32) {
          load_operand(codes, query, smem.query() + (row_part * 64 + warp * 16) * row_bytes, step, lane);
        } else {
          int first_of_warp = first_row + warp * 16;
          asm volatile("" : "+r"(first_of_warp));  // places are computed here: they are not kept in registers
          load_query(codes, arguments.q, problem, work, first_of_warp, 32 * step, lane);
        }
      };
      f16x2 shrunk_by = 0;
      if constexpr (!weighs_f32) {
        const float scale = __uint_as_float(load_global_u32(arguments.q_scale + problem.q_scale_index(work))) *
                            __uint_as_float(load_global_u32(arguments.k_scale + problem.kv_scale_index(work))) * score_unit;
        // Powers of two but for the rounding of the rows' scales.
        const float near_it[2] = {scale * reciprocal(qk_scale[0]), scale * reciprocal(qk_scale[1])};
        shrunk_by = f16x2_from_f32(near_it[0] * 1.2f, near_it[1] * 1.2f) & 0x7c007c00u;
      }
#pragma unroll 1
      for (int first = 0; first < tile_k; first += 8) {
        EightScores some;
        multiply_scores_again(some, load_rows, smem.keys(group, place.stage), first, lane);
        if constexpr (!weighs_f32) {
#pragma unroll
          for (int n = 0; n < 4; ++n) some[n] *= n < 2 ? first_of(shrunk_by) : second_of(shrunk_by);
        }
        mask_unseen(some, first_key_of(i, work) + key_of(first / 8), 16, problem, work, first_row, warp, lane);
        // The other rows of the warp keep maxima that are f16 scores.
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          if (!weighs_f32 && !large[n / 2]) some[n] = rounded_to_f16(some[n]);
          exact[first / 2 + n] = some[n];
        }
        float largest[2];
        find_highest(largest, some);
#pragma unroll
        for (int r = 0; r < 2; ++r) highest[r] = fmaxf(highest[r], largest[r]);
      }
      __syncwarp();  // all lanes have read them
    };
    // They take the scores' place, less the row's highest: scaled first, neither a score nor a maximum of thousands of octaves
    // would keep the digits that tell how near they are. f32, or pairs of f16.
    const auto take_exact = [&](TileScores& scores, TileInMemory& exact, const float (&highest)[2]) {
      offset[0] = offset[1] = offset_below(0.0f, 1.0f);
      if constexpr (weighs_f32) {
#pragma unroll
        for (int n = 0; n < tile_k / 2; ++n) scores[n] = exact[n] - highest[n / 2 % 2];
      } else {
#pragma unroll 1
        for (int n = 0; n < tile_k / 4; n += 2) {
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const float* two = exact + 2 * (n + r);
            exact[n + r] = __uint_as_float(f16x2_from_f32(two[0] - highest[r], two[1] - highest[r]));
          }
        }
#pragma unroll
        for (int n = 0; n < tile_k / 4; ++n) set_pair(scores, n, __float_as_uint(exact[n]));
      }
    };
//% if weigh_type == 'f16' && code_by == 'converter'
    // F16 scores less the row's maximum, which the FMA that scales them takes off exactly where it is not below 0 only.
    const auto take_differences = [&](TileScores& scores) {
      f16x2 less[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) less[r] = twice_f16(less_highest(row_max[r], qk_scale[r]));
#pragma unroll
      for (int n = 0; n < tile_k / 4; ++n) set_pair(scores, n, add_f16x2(score_pair(scores, n), less[n % 2]));
      offset[0] = offset[1] = offset_below(0.0f, 1.0f);
    };
//% end
