//% if halves_diagonal
    // The first tile, where no row sees its late keys.
    int next_tile = first_tile;
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
      next_tile += tile_step;
    }
    {
      const int first_tile = next_tile;  // for the loop alone: what follows it asks whether there was any tile
//% end
//% include "include/attention/schedule/early_output.cuh"
//% if halves_diagonal
    }
//% end
