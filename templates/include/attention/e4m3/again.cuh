    // Scores again, in f32 and by precise products, where a maximum of one of the warp's rows is so large that neither f16 nor
    // the 13 bits of the first product resolve them: 32 keys of the tile at a time, once for the maximum and once for what
    // takes the scores' place: they themselves, or f16 scores less the maximum. The tile's keys stay until then.
    const auto multiply_again = [&](AgainScores& some, const RingPlace<stages>& place, int i, int first) {
      multiply_scores_again(some, query, smem.query() + (row_part * 64 + warp * 16) * row_bytes,
                            smem.keys(group, place.stage), first, lane);
      mask_unseen(some, first_key_of(i, work) + first, again_keys, problem, work, first_row, warp, lane);
      // The other rows of the warp keep maxima that are f16 scores.
#pragma unroll
      for (int n = 0; n < again_keys / 2; ++n) {
        if (!weighs_f32 && !large[n / 2 % 2]) some[n] = rounded_to_f16(some[n]);
      }
    };
    const auto find_max_again = [&](float (&tile_max)[2], const RingPlace<stages>& place, int i) {
      float largest[2] = {lowest_score, lowest_score};
#pragma unroll 1
      for (int first = 0; first < tile_k; first += again_keys) {
        AgainScores some;
        multiply_again(some, place, i, first);
        float highest[2];
        find_highest(highest, some);
#pragma unroll
        for (int r = 0; r < 2; ++r) largest[r] = fmaxf(largest[r], highest[r]);
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) tile_max[r] = largest[r] * qk_scale[r];
    };
    const auto score_again = [&](TileScores& scores, const RingPlace<stages>& place, int i) {
      const float highest[2] = {row_max[0] * reciprocal(qk_scale[0]), row_max[1] * reciprocal(qk_scale[1])};
//% for part in 0..tile_k / 16
      {
        AgainScores some;
        multiply_again(some, place, i, ${part} * again_keys);
#pragma unroll
        for (int n = 0; n < again_keys / 4; ++n) {
          if constexpr (weighs_f32) {
#pragma unroll
            for (int e = 0; e < 2; ++e) scores[${part} * (again_keys / 2) + 2 * n + e] = some[2 * n + e];
          } else {
            set_pair(scores, ${part} * (again_keys / 4) + n,
                     f16x2_from_f32(some[2 * n] - highest[n % 2], some[2 * n + 1] - highest[n % 2]));
          }
        }
      }
//% end
    };
