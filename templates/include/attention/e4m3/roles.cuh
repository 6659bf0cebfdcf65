  // The producer's warps and the consumers go their ways.
  if (threadIdx.x == consumer_threads) {
//% if q_operand != 'global'
    prefetch_tensor_map(q_map);
//% end
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(v_map);
    init_barriers(smem);
  }
//% if sum_columns > 0
  write_ones(smem);
  publish_to_async_proxy();
//% end
  __syncthreads();
//% if v_path != 'prepass' && pdl != 'none'
  wait_for_launch_ahead();
//% end
//% if pdl == 'early'
  start_launch_behind();
//% end

  if (threadIdx.x >= consumer_threads) {
//% if register_split
    shrink_registers_to<${producer_registers}>();
//% end
//% if producer_prepares
    produce(smem, q_map, k_map, v_map, problem, threadIdx.x / 32 - ${4 * warpgroups}, threadIdx.x % 32);
//% else
    if (threadIdx.x == consumer_threads) produce(smem, q_map, k_map, v_map, problem);
//% end
  } else {
//% if register_split
    grow_registers_to<${consumer_registers}>();
//% end
    consume(smem, arguments);
  }
