  // One product after the other.
  for (int i = group; i < tiles; i += groups) {
    start_scores(scores, place);
//% if v_transpose == 'consumers'
    transpose_values(smem, group, place, group_warp, lane);
//% end
    wait_for_products<0>();
    scores_to_weights(scores, place, i);
    pack_weights(weights, scores);
    follow();
    start_output(place);
    wait_for_products<0>();
    finish_output(place);
    place.advance();
  }
