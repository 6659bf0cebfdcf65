    // Nothing reads the keys of tile `i` any more, nor the query behind the last tile.
    const auto free_keys = [&](const RingPlace<stages>& place, int i) {
      if (lane == 0) arrive(smem.barrier(keys_free, group, place.stage));
      if constexpr (persistent && q_operand == QueryOperand::smem) {
        if (lane == 0 && i + tile_step >= end_tile) arrive(smem.query_free(row_part));
      }
    };
//% if large_scores == 'again'
#include "again.cuh"
//% end
    // Once the first product of tile `i` is done: its rows follow its maximum.
    const auto raise_maximum = [&](TileScores& scores, const RingPlace<stages>& place, int i) {
      pin_registers(scores);
      if constexpr (!multiplies_again) free_keys(place, i);
      const int first_key = first_key_of(i, work);
      mask_unseen(scores, first_key, tile_k, problem, work, first_row, warp, lane);
//% probe
      if constexpr (weighs_f32) {
        const int rows[2] = {first_row + warp * 16 + lane / 4, first_row + warp * 16 + lane / 4 + 8};
#pragma unroll
        for (int n = 0; n < tile_k / 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int probed_row = rows[e / 2];
            const int probed_key = first_key + key_of(n) + lane_key(lane) + e % 2;
            if (probed_row >= problem.rows(work) || probed_key >= problem.key_end(work, probed_row)) continue;
            probed_scores[problem.row_number(work, probed_row) * problem.keys(work) + probed_key] =
                scores[4 * n + e] * qk_scale[0] / (log2_e * units_per_octave);
          }
        }
      }
//% end
      if constexpr (scores_are_f32 && !weighs_f32) narrow(scores);
      float tile_max[2];
      const auto follow_maximum = [&] {
        if constexpr (promote_tiles == 1) {
          follow_tile_max(row_max, shrink, tile_max);
        } else {
          raise_row_max(row_max, shrink, tile_max);
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) offset[r] = offset_below(row_max[r], qk_scale[r]);
      };
//% if large_scores == 'again'
//% if weigh_type == 'f16' && code_by == 'converter'
      // Each thread looks at its own scores ahead of the others': the vote is there when the maximum is.
      f16x2 pairs[2];
      find_highest_pairs(pairs, scores);
      const bool unusual = __any_sync(0xffffffffu, beyond(highest_of_rows(pairs), usual));
//% end
      find_tile_max(tile_max, scores, qk_scale);
//% if weigh_type != 'f16' || code_by != 'converter'
      const bool unusual = true;
//% end
      if (unusual) {
#pragma unroll
        for (int r = 0; r < 2; ++r) large[r] = is_large(fmaxf(row_max[r], tile_max[r]));
        if (__any_sync(0xffffffffu, large[0] || large[1])) {
          usual = 0;
          TileInMemory exact;
          float highest[2];
          multiply_again(exact, highest, place, i);
#pragma unroll
          for (int r = 0; r < 2; ++r) tile_max[r] = highest[r] * qk_scale[r];
          follow_maximum();
          // Of a row whose maximum is an earlier tile's, as exact as that is; else exactly.
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            if (tile_max[r] != row_max[r]) highest[r] = row_max[r] * reciprocal(qk_scale[r]);
          }
          take_exact(scores, exact, highest);
        } else {
          follow_maximum();
//% if weigh_type == 'f16' && code_by == 'converter'
          take_differences(scores);
//% end
        }
      } else {
        follow_maximum();
      }
      if constexpr (multiplies_again) free_keys(place, i);
//% else
      find_tile_max(tile_max, scores, qk_scale);
      follow_maximum();
//% end
    };
    // Scores become weights, in place.
    const auto weigh_scores = [&](TileScores& scores) {
      weigh(scores, qk_scale, offset);
      sum_weights(row_sum, shrink, scores);
    };
    // A tile's first keys, and the others.
    const auto weigh_early_keys = [&] {
      weigh<0, early_keys>(scores, qk_scale, offset);
      sum_weights<0, early_keys>(row_sum, shrink, scores);
      pack_weights<0, early_keys>(weights, scores);
    };
    const auto weigh_late_keys = [&] {
      weigh<early_keys>(scores, qk_scale, offset);
      sum_weights<early_keys>(row_sum, shrink, scores);
      pack_weights<early_keys>(weights, scores);
    };
