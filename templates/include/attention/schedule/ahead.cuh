    // Scores of the next tile are multiplied while those of this one are weighed, in a second set of registers; the
    // output of the tile before runs behind them. Products under way when a tile is begun: its scores, the output of the
    // tile before.
    TileScores scores_ahead;
    if (first_tile < end_tile) {
      int i = first_tile;
      RingPlace<stages> before;
      const auto start_next = [&](TileScores& next) {
        RingPlace<stages> ahead = place;
        ahead.advance();
        start_scores(next, ahead);
        if constexpr (consumers_prepare) prepare_values(smem, group, ahead, preparing_warp, lane);
      };
      const auto start_output_of = [&](const TileScores& now) {
        follow();
        pack_weights(weights, now);
        start_output(place);
        before = place;
        place.advance();
        i += tile_step;
      };
      const auto weigh_tile = [&](TileScores& now, TileScores& next) {
        start_next(next);
        wait_for_products<2>();
//% if two_steps
        raise_maximum(now, place, i);
        wait_for_products<1>();
        promote(0);
        start_part(before, 1);
        weigh_scores(now);
        wait_for_products<0>();
        finish_output(before, 1);
//% else
        raise_maximum(now, place, i);
        weigh_scores(now);
        wait_for_products<1>();
        finish_output(before);
//% end
        start_output_of(now);
      };
      start_scores(scores, place);
      if constexpr (consumers_prepare) prepare_values(smem, group, place, preparing_warp, lane);
      if (i + tile_step < end_tile) {
        start_next(scores_ahead);
        wait_for_products<1>();
        raise_maximum(scores, place, i);
        weigh_scores(scores);
        start_output_of(scores);
        while (true) {
          if (i + tile_step >= end_tile) {
            wait_for_products<0>();
            pin_registers(scores_ahead);
#pragma unroll
            for (int k = 0; k < score_registers; ++k) scores[k] = scores_ahead[k];
            break;
          }
          weigh_tile(scores_ahead, scores);
          if (i + tile_step >= end_tile) {
            wait_for_products<0>();
            break;
          }
          weigh_tile(scores, scores_ahead);
        }
        finish_output(before);
      } else {
        wait_for_products<0>();
      }
      raise_maximum(scores, place, i);
      weigh_scores(scores);
      start_output_of(scores);
      wait_for_products<0>();
      finish_output(before);
    }
