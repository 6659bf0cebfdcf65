    // The first product of a tile.
    const auto start_scores = [&](TileScores& scores, const RingPlace<stages>& place) {
      wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());
      const matrix_descriptor keys = describe_matrix<row_bytes>(smem.keys(group, place.stage));
      start_products();
      multiply_scores(scores, query, keys);
      commit_products();
    };
