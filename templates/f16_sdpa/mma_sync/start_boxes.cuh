#include "include/attention/group_tiles.cuh"

    constexpr int tile_commits = 0;  // groups of copies of a tile: TMA brings it
    if constexpr (q_operand != QueryOperand::global) {
      copy_tile<tile_q, threads>(smem, q_head, work.first_row, S, threadIdx.x);
      commit_copies();
    }
    // Tile i goes to stage i % stages.
    const auto start_copy = [&](int i, int stage) {
      if (i >= tiles || group_thread != 0) return;
      load_boxes(k_tiles + stage * tile_bytes, k_map, stage_full(smem, group, stage, 0), first_key(i), work.head);
      load_boxes(v_tiles + stage * tile_bytes, v_map, stage_full(smem, group, stage, 1), first_key(i), work.head);
    };
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);
