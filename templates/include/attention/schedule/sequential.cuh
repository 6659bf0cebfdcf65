    // One product after the other.
    for (int i = first_tile; i < end_tile; i += tile_step) {
      start_scores(scores, place);
      if constexpr (consumers_prepare) prepare_values(smem, group, place, preparing_warp, lane);
      wait_for_products<0>();
      raise_maximum(scores, place, i);
      weigh_scores(scores);
      pack_weights(weights, scores);
      follow();
      start_output(place);
      wait_for_products<0>();
      finish_output(place);
      place.advance();
    }
