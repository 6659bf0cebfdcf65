    // Scores of a tile are multiplied together with the output of the one before.
    const auto wait_for_turn = [&] { sync_at(turn_barrier + row_part, 256); };
    const auto pass_turn = [&] { pass_at(turn_barrier + (row_part + 1) % row_warpgroups, 256); };
    if (first_tile < end_tile) {
      start_scores(scores, place);
      if constexpr (consumers_prepare) prepare_values(smem, group, place, preparing_warp, lane);
      wait_for_products<0>();
      raise_maximum(scores, place, first_tile);
      weigh_scores(scores);
      follow();
      pack_weights(weights, scores);
      for (int i = first_tile + tile_step; i < end_tile; i += tile_step) {
        const RingPlace<stages> before = place;
        place.advance();
        if constexpr (schedule == Schedule::ping_pong) {
          wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());  // not while it is our turn
          wait_for_turn();
        }
        start_scores(scores, place);
        start_output(before);
        if constexpr (schedule == Schedule::ping_pong) pass_turn();
        if constexpr (consumers_prepare) prepare_values(smem, group, place, preparing_warp, lane);
        wait_for_products<1>();
//% if two_steps
        raise_maximum(scores, place, i);
        wait_for_products<0>();
        promote(0);
        start_part(before, 1);
        weigh_scores(scores);
        wait_for_products<0>();
        finish_output(before, 1);
//% else
        raise_maximum(scores, place, i);
        weigh_scores(scores);
        wait_for_products<0>();
        finish_output(before);
//% end
        follow();
        pack_weights(weights, scores);
      }
      start_output(place);
      wait_for_products<0>();
      finish_output(place);
      place.advance();
    }
