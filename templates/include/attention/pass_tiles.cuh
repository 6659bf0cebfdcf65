#pragma once
// Key tiles in the order in which they are worked on.
struct TileRange {
  int begin;
  int end;
};

// Waits for tiles of a group, from `first` to `end`, and frees them unread.
__device__ __forceinline__ int pass_tiles(const SharedMemory& smem, RingPlace<stages>& place, int group, int first, int end,
                                          int lane) {
  for (; first < end; first += tile_step) {
    wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());
    wait_for(smem.barrier(operand_full, group, place.stage), place.full_parity());
    if (lane == 0) {
      arrive(smem.barrier(keys_free, group, place.stage));
      arrive(smem.barrier(operand_free, group, place.stage));
    }
    place.advance();
  }
  return first;
}
