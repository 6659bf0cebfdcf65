  // Scores of the next tile are multiplied while those of this one are weighed, in a second set of registers; the output
  // of the tile before runs behind them. Products under way when a tile is begun: its scores, the output of the tile
  // before.
  TileScores scores_ahead;
  if (group < tiles) {
    int i = group;
    RingPlace<stages> before;
    const auto start_next = [&](TileScores& next) {
      RingPlace<stages> ahead = place;
      ahead.advance();
      start_scores(next, ahead);
//% if v_transpose == 'consumers'
      transpose_values(smem, group, ahead, group_warp, lane);
//% end
    };
    const auto start_output_of = [&](const TileScores& now) {
      follow();
      pack_weights(weights, now);
      start_output(place);
      before = place;
      place.advance();
      i += groups;
    };
    const auto weigh_tile = [&](TileScores& now, TileScores& next) {
      start_next(next);
      wait_for_products<2>();
      scores_to_weights(now, place, i);
      wait_for_products<1>();
      finish_output(before);
      start_output_of(now);
    };
    start_scores(scores, place);
//% if v_transpose == 'consumers'
    transpose_values(smem, group, place, group_warp, lane);
//% end
    if (i + groups < tiles) {
      start_next(scores_ahead);
      wait_for_products<1>();
      scores_to_weights(scores, place, i);
      start_output_of(scores);
      while (true) {
        if (i + groups >= tiles) {
          wait_for_products<0>();
          take_result(scores_ahead);
#pragma unroll
          for (int k = 0; k < score_registers; ++k) scores[k] = scores_ahead[k];
          break;
        }
        weigh_tile(scores_ahead, scores);
        if (i + groups >= tiles) {
          wait_for_products<0>();
          break;
        }
        weigh_tile(scores, scores_ahead);
      }
      finish_output(before);
    } else {
      wait_for_products<0>();
    }
    scores_to_weights(scores, place, i);
    start_output_of(scores);
    wait_for_products<0>();
    finish_output(before);
  }
