    // A warpgroup's rows leave: merged with those of other groups, by TMA, or straight from the registers.
    if constexpr (merges) {
      sync_at(1 + group, 128 * row_warpgroups);  // the group is done with its tiles: their room serves its partial rows
      leave_partial_rows(smem.group(group), row_part * 64 + warp * 16, acc_o, row_max, row_sum, lane);
      if constexpr (split_over_cluster) {
        sync_cluster();
      } else {
        sync_at(consumers_barrier, consumer_threads);
      }
      merge_rows(smem.group(0), output, work);
      if constexpr (split_over_cluster) sync_cluster();  // until nobody reads this CTA's rows
    } else {
      ${epilogue == 'tma' ? 'stage_rows(smem, o_map, output, work, row_part, acc_o, row_sum, lane)' : 'store_rows(output, work, first_row + warp * 16, acc_o, row_max, row_sum, lane)'};
    }
