  // Scores of a tile are multiplied together with the output of the one before.
  if (group < tiles) {
    start_scores(scores, place);
//% if v_transpose == 'consumers'
    transpose_values(smem, group, place, group_warp, lane);
//% end
    wait_for_products<0>();
    scores_to_weights(scores, place, group);
    follow();
    pack_weights(weights, scores);
    for (int i = group + groups; i < tiles; i += groups) {
      const RingPlace<stages> before = place;
      place.advance();
//% if schedule == 'ping_pong'
      wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());  // not while it is our turn
      wait_for_turn();
//% end
      start_scores(scores, place);
      start_output(before);
//% if schedule == 'ping_pong'
      pass_turn();
//% end
//% if v_transpose == 'consumers'
      transpose_values(smem, group, place, group_warp, lane);
//% end
      wait_for_products<1>();
      scores_to_weights(scores, place, i);
      wait_for_products<0>();
      finish_output(before);
      follow();
      pack_weights(weights, scores);
    }
    start_output(place);
    wait_for_products<0>();
    finish_output(place);
  }
