  // The producer's warps and the consumers go their ways.
  if (threadIdx.x == consumer_threads) {
    if constexpr (q_operand != QueryOperand::global) prefetch_tensor_map(q_map);
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(v_map);
    init_barriers(smem);
  }
  if constexpr (sum_columns > 0) {
    write_ones(smem);
    publish_to_async_proxy();
  }
  __syncthreads();
  if constexpr (v_path != ValuePath::prepass && pdl != DependentLaunch::none) wait_for_launch_ahead();
  if constexpr (pdl == DependentLaunch::early) start_launch_behind();

  if (threadIdx.x >= consumer_threads) {
    if constexpr (register_split) shrink_registers_to<producer_registers>();
    if constexpr (producer_prepares) {
      produce_and_prepare(smem, q_map, k_map, v_map, problem, threadIdx.x / 32 - consumer_threads / 32, threadIdx.x % 32);
    } else {
      if (threadIdx.x == consumer_threads) produce(smem, q_map, k_map, v_map, problem);
    }
  } else {
    if constexpr (register_split) grow_registers_to<consumer_registers>();
    consume(smem, arguments);
  }
