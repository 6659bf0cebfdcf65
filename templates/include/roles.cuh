#pragma once
// Consumer warpgroups, and behind them the producer's warps, go their ways. If registers are split, the producer gives
// some to the consumers.
template <typename Produce, typename Consume>
__device__ __forceinline__ void split_roles(const Produce& produce, const Consume& consume) {
  if (threadIdx.x >= consumer_threads) {
    if constexpr (register_split) shrink_registers_to<producer_registers>();
    produce();
  } else {
    if constexpr (register_split) grow_registers_to<consumer_registers>();
    consume();
  }
}
