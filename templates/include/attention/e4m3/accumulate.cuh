//% if promote_tiles > 0
    // The second product of a tile. It adds to acc_o by way of tile_o, as the tensor cores sum e4m3 products in low
    // precision.
//% else
    // The second product of a tile. It adds to acc_o in place.
//% end
    const auto start_part = [&](const RingPlace<stages>& place, int part) {
      const shared_address values =
          smem.value_operand(group, place.stage) + part * ${v_path == 'widened' ? 0 : part_columns * panel};
//% if schedule == 'early_output'
      pin_registers<0, ${4 * early_keys / step_keys}>(weights);
//% else
      pin_registers(weights);  // all of them before the first product
//% end
      start_products();
//% for step in 0..tile_k / step_keys
//%   if schedule == 'early_output' && step * step_keys == early_keys
      commit_products();
      weigh_late_keys();
      pin_registers<${4 * step}, weight_registers>(weights);
      start_products();
//%   end
//%   if v_path == 'widened'
      multiply_pv_last<true>(acc_o, weights + ${4 * step},
                             describe_columns<panel_bytes>(values + ${step * 16 * 128}));
//%   else
//%     let key = 32 * step
//%     let target = promote_tiles > 0 ? 'tile_o' : 'acc_o + part * part_registers'
//%     let accumulate = promote_tiles != 1 || step > 0
      const matrix_descriptor values_${step} =
          describe_matrix<panel>(values + ${key / panel * (D + sum_columns) * panel + key % panel});
//%     if output_parts > 1
      if (part < ${output_parts - 1}) {
        multiply_pv<${accumulate}>(${target}, weights + ${4 * step}, values_${step});
      } else {
        multiply_pv_last<${accumulate}>(${target}, weights + ${4 * step}, values_${step});
      }
//%     else
      multiply_pv_last<${accumulate}>(${target}, weights + ${4 * step}, values_${step});
//%     end
//%   end
//% end
//% if promote_tiles != 0
      commit_products();
//% end
    };
    const auto start_output = [&](const RingPlace<stages>& place) {
      wait_for(smem.barrier(operand_full, group, place.stage), place.full_parity());
//% if promote_tiles != 1
      pin_registers(${promote_tiles == 0 ? 'acc_o' : 'tile_o'});  // rescaled: before the fence, not behind it
//% end
//% if promote_tiles == 0
#pragma unroll
      for (int part = 0; part < ${output_parts}; ++part) start_part(place, part);
      commit_products();
//% else
      start_part(place, 0);
//% end
    };
//% if promote_tiles == 0
    // Once the product is done.
    const auto finish_output = [&](const RingPlace<stages>& place) {
      pin_registers(acc_o);
      if (lane == 0) arrive(smem.barrier(operand_free, group, place.stage));
    };
    // Between two tiles: what is accumulated follows the new tile's maximum.
    const auto follow = [&] { rescale(acc_o, shrink); };
//% elif promote_tiles == 1
    const auto promote = [&](int part) {
      pin_registers(tile_o);
      const int end = part + 1 < ${output_parts} ? (part + 1) * part_registers : o_registers;
#pragma unroll
      for (int i = part * part_registers; i < end; ++i) {
        acc_o[i] = fmaf(acc_o[i], acc_shrink[i / 2 % 2], tile_o[i - part * part_registers]);
      }
    };
    // Once the product of its part ${output_parts > 1 ? '`part` ' : ''}is done.
    const auto finish_output = [&](const RingPlace<stages>& place${output_parts > 1 ? ', int part = 0' : ''}) {
//%   if output_parts > 1
      promote(part);
#pragma unroll
      for (int next = 1; next < ${output_parts}; ++next) {
        if (next <= part) continue;
        start_part(place, next);
        wait_for_products<0>();
        promote(next);
      }
//%   else
      promote(0);
//%   end
      if (lane == 0) arrive(smem.barrier(operand_free, group, place.stage));
    };
    // Between two tiles: what is accumulated follows the new tile's maximum.
    const auto follow = [&] {
      acc_shrink[0] = shrink[0];
      acc_shrink[1] = shrink[1];
    };
//% else
    const auto promote = [&] {
      shrink_rows(acc_o, acc_shrink);
#pragma unroll
      for (int i = 0; i < o_registers; ++i) acc_o[i] += tile_o[i];
    };
    // Once the product is done.
    const auto finish_output = [&](const RingPlace<stages>& place) {
      pin_registers(tile_o);
      if (lane == 0) arrive(smem.barrier(operand_free, group, place.stage));
    };
    // Between two tiles: what is accumulated follows the new tile's maximum.
    const auto follow = [&] {
      if (++tiles_in > ${promote_tiles}) {
        promote();
        tiles_in = 1;
#pragma unroll
        for (int i = 0; i < o_registers; ++i) tile_o[i] = 0.0f;
        acc_shrink[0] = acc_shrink[1] = 1.0f;
      }
      acc_shrink[0] *= shrink[0];
      acc_shrink[1] *= shrink[1];
      rescale(tile_o, shrink);
    };
//% end
