    // The group's share of the key tiles.
    const int first_tile = first_tile_of(work, group);
    const int tiles = work.tiles > first_tile ? (work.tiles - first_tile + tile_step - 1) / tile_step : 0;
    const auto first_key = [&](int i) { return first_key_of(first_tile + i * tile_step, work); };
