//% if halves_diagonal
    // The first tile, where no row sees its late keys.
    if (first_tile < end_tile && first_key_of(first_tile, work) + early_keys > first_row + 63) {
#pragma unroll
      for (int j = early_scores; j < score_registers; ++j) scores[j] = __int_as_float(0xff800000);  // minus infinity
      wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());
      const matrix_descriptor keys = describe_matrix<128>(smem.keys(group, place.stage));
      start_products();
      multiply_early_scores(scores, query, keys);
      commit_products();
      wait_for_products<0>();
      raise_maximum(scores, place, first_tile);
      follow();
      weigh_early_keys();
      wait_for(smem.barrier(values_full, group, place.stage), place.full_parity());
      const matrix_descriptor values = describe_columns<tile_k * 128>(smem.values(group, place.stage));
      pin_registers(acc_o);  // rescaled: before the fence, not behind it
      pin_registers<0, early_scores / 2>(weights);
      start_products();
#pragma unroll
      for (int step = 0; step < early_keys / 16; ++step) {
        multiply_pv<true>(acc_o, weights + 4 * step, along_rows(values, step * 16 * 128));
      }
      commit_products();
      wait_for_products<0>();
      finish_output(place);
      place.advance();
      first_tile += tile_step;
    }
//% end
#include "include/attention/schedule/early_output.cuh"
