    // One pass over the group's key tiles. The including file has multiply_keys(scores, k_tile), mask_rows(scores,
    // first_key, first_row) and multiply_values(acc_o, row_sum, weights, v_tile).
    Accumulators acc_o[m_tiles] = {};
    float row_sum[m_tiles][2] = {};${row_sum == 'adds' ? '  // of this lane' : ''}
    float row_max[m_tiles][2];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) row_max[m][0] = row_max[m][1] = lowest_max;

    int stage = 0;
#pragma unroll 1
    for (int i = 0; i < tiles; ++i) {
      const shared_address k_tile = k_tiles + stage * tile_bytes;
      const shared_address v_tile = v_tiles + stage * tile_bytes;
      ${load == 'tma' ? 'const u32 parity = full_parity >> stage & 1;' : 'wait_for_copies<stages * tile_commits - 1>();'}
      ${load == 'tma' ? 'wait_for(stage_full(smem, group, stage, 0), parity);' : 'sync_group(group);'}

      Scores scores[m_tiles] = {};
      multiply_keys(scores, k_tile);
      Weights weights[m_tiles];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        mask_rows(scores[m], first_key(i), work.first_row + warp_row + 16 * m);
        float tile_max[2];
        float shrink[2];
        find_tile_max(tile_max, scores[m], scale);
        raise_row_max(row_max[m], shrink, tile_max);
        rescale(acc_o[m], shrink);
        row_sum[m][0] *= shrink[0];
        row_sum[m][1] *= shrink[1];
        weigh(scores[m], scale, row_max[m]);
//% if row_sum == 'adds'
        add_weights(row_sum[m], scores[m]);
//% end
        pack_weights(weights[m], scores[m]);
      }

//% if arrival == 'split'
      ${load == 'tma' ? 'wait_for(stage_full(smem, group, stage, 1), parity);' : 'wait_for_copies<stages * tile_commits - 2>();'}
      ${load == 'tma' ? 'full_parity ^= 1u << stage;' : 'sync_group(group);'}
//% end
      multiply_values(acc_o, row_sum, weights, v_tile);

      if (i + stages < tiles) sync_group(group);  // every warp is done with the stage
      start_copy(i + stages, stage);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }

//% if row_sum == 'adds'
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) row_sum[m][r] = quad_sum(row_sum[m][r]);
    }
//% end
//% if merges
    sync_group(group);  // the group is done with its tiles: their room serves its partial rows
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      leave_partial_rows(k_tiles, warp_row + 16 * m, acc_o[m], row_max[m], row_sum[m], lane);
    }
    __syncthreads();
//% end
