    // Scores again, in f32 and by precise products, where a maximum of one of the warp's rows is so large that neither f16 nor
    // the 13 bits of the first product resolve them: eight keys of the tile at a time. They wait in local memory, and loops are
    // not unrolled: no register is kept for what is rare.
    const auto multiply_again = [&](TileInMemory& exact, float (&highest)[2], const RingPlace<stages>& place, int i) {
      highest[0] = highest[1] = lowest_score;
#pragma unroll 1
      for (int first = 0; first < tile_k; first += 8) {
        EightScores some;
        multiply_scores_again(some, query, smem.query() + (row_part * 64 + warp * 16) * row_bytes,
                              smem.keys(group, place.stage), first, lane);
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
      free_keys(place, i);
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
