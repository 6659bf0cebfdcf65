    // The tiles that this warpgroup works on. It passes those that only other warpgroups' rows see.
    int first_tile = first_tile_of(work, group);
    int end_tile = work.tiles;
    if constexpr (passes_tiles) {
      const TileRange seen = seen_tiles(work, first_row, problem);
      end_tile = seen.end;
      if constexpr (passes_before) first_tile = pass_tiles(smem, place, group, first_tile, seen.begin, lane);
    }
    if constexpr (persistent && q_operand == QueryOperand::smem) {
      if (lane == 0 && first_tile >= end_tile) arrive(smem.query_free(row_part));
    }
