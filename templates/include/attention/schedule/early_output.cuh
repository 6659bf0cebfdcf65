    // One product after the other, but the output of a tile's first keys is started before its late keys are weighed.
    for (int i = first_tile; i < end_tile; i += tile_step) {
      start_scores(scores, place);
      if constexpr (consumers_prepare) prepare_values(smem, group, place, preparing_warp, lane);
      wait_for_products<0>();
      raise_maximum(scores, place, i);
      follow();
      weigh_early_keys();
      start_output(place);
      wait_for_products<0>();
      finish_output(place);
      place.advance();
    }
