//% if promotes_early
    // The output of a tile's early keys is added to acc_o by itself, ahead of the late keys' product.
    const auto promote_early = [&] {
      wait_for_products<0>();
      pin_registers(tile_o);
#pragma unroll
      for (int i = 0; i < o_registers; ++i) acc_o[i] = fmaf(acc_o[i], acc_shrink[i / 2 % 2], tile_o[i]);
      acc_shrink[0] = acc_shrink[1] = 1.0f;
    };
//% end
    // The second product of a tile, or of a part of its columns.
    const auto start_part = [&](const RingPlace<stages>& place, int part) {
      const matrix_descriptor values = describe_values(smem.value_operand(group, place.stage), part);
      pin_registers<0, early_registers>(weights);  // all of them before the first product
      start_products();
//% for step in 0..tile_k / step_keys
      if constexpr (schedule == Schedule::early_output && ${step} * step_keys == early_keys) {
        commit_products();
        weigh_late_keys();
        pin_registers<early_registers, weight_registers>(weights);
        ${promotes_early ? 'promote_early();' : ''}
        start_products();
      }
      multiply_values<${step}>(${promote_tiles > 0 ? 'tile_o' : 'acc_o + part * part_registers'}, weights, values, part);
//% end
      if constexpr (promote_tiles != 0) commit_products();
    };
//% if promote_tiles == 0
    // The second product adds to acc_o in place.
    const auto start_output = [&](const RingPlace<stages>& place) {
      wait_for(smem.barrier(operand_full, group, place.stage), place.full_parity());
      pin_registers(acc_o);  // rescaled: before the fence, not behind it
#pragma unroll
      for (int part = 0; part < output_parts; ++part) start_part(place, part);
      commit_products();
    };
    // Once the product is done.
    const auto finish_output = [&](const RingPlace<stages>& place) {
      pin_registers(acc_o);
      if (lane == 0) arrive(smem.barrier(operand_free, group, place.stage));
    };
    // Between two tiles: what is accumulated follows the new tile's maximum.
    const auto follow = [&] { rescale(acc_o, shrink); };
    // Behind the last tile.
    const auto end_output = [] {};
//% elif promote_tiles == 1
    // The second product of a tile adds to acc_o by way of tile_o, part after part of its columns, as the tensor cores sum
    // e4m3 products in low precision.
    const auto start_output = [&](const RingPlace<stages>& place) {
      wait_for(smem.barrier(operand_full, group, place.stage), place.full_parity());
      start_part(place, 0);
    };
    const auto promote = [&](int part) {
      pin_registers(tile_o);
      const int end = part + 1 < output_parts ? (part + 1) * part_registers : o_registers;
#pragma unroll
      for (int i = part * part_registers; i < end; ++i) {
        acc_o[i] = fmaf(acc_o[i], acc_shrink[i / 2 % 2], tile_o[i - part * part_registers]);
      }
    };
    // Once the product of its part `part` is done.
    const auto finish_output = [&](const RingPlace<stages>& place, int part = 0) {
      promote(part);
#pragma unroll
      for (int next = 1; next < output_parts; ++next) {
        if (next <= part) continue;
        start_part(place, next);
        wait_for_products<0>();
        promote(next);
      }
      if (lane == 0) arrive(smem.barrier(operand_free, group, place.stage));
    };
    // Between two tiles: what is accumulated follows the new tile's maximum.
    const auto follow = [&] {
      acc_shrink[0] = shrink[0];
      acc_shrink[1] = shrink[1];
    };
    // Behind the last tile.
    const auto end_output = [] {};
//% else
    // The second products of promote_tiles tiles add to acc_o by way of tile_o, as the tensor cores sum e4m3 products in low
    // precision.
    const auto start_output = [&](const RingPlace<stages>& place) {
      wait_for(smem.barrier(operand_full, group, place.stage), place.full_parity());
      pin_registers(tile_o);  // rescaled: before the fence, not behind it
      start_part(place, 0);
    };
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
      if (++tiles_in > promote_tiles) {
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
    // Behind the last tile.
    const auto end_output = [&] { promote(); };
//% end
