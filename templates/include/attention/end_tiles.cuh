    if constexpr (passes_tiles && passes_after) {
      if (first_tile < end_tile) first_tile += (end_tile - first_tile + tile_step - 1) / tile_step * tile_step;
      pass_tiles(smem, place, group, first_tile, work.tiles, lane);
    }
