//% if halves_diagonal
    // The first tile, where no row sees its late keys.
    if (first_tile < end_tile && first_key_of(first_tile, work) + ${early_keys} > first_row + 63) {
#pragma unroll
      for (int j = early_scores; j < score_registers; ++j) scores[j] = __int_as_float(0xff800000);  // minus infinity
      start_early_scores(scores, place);
      wait_for_products<0>();
      raise_maximum(scores, place, first_tile);
      follow();
      weigh_early_keys();
      start_early_output(place);
      wait_for_products<0>();
      finish_output(place);
      place.advance();
      first_tile += tile_step;
    }
//% end
//% include "include/attention/schedule/early_output.cuh"
