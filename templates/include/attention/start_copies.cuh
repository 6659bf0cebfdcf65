#include "group_tiles.cuh"

    if constexpr (${q_operand != 'global'}) {
      copy_tile<tile_q, threads>(smem, q_head, work.first_row, ${query_count}, threadIdx.x);
      commit_copies();
    }
    // Tile i goes to stage i % stages. Groups of copies are closed for tiles past the last too, so that counting them
    // is the same all the way.
    constexpr int tile_commits = ${arrival == 'split' ? 2 : 1};  // groups of copies of a tile
    const auto start_copy = [&](int i, int stage) {
      if (i < tiles) {
        copy_tile<tile_k, group_threads>(k_tiles + stage * tile_bytes, k_head, first_key(i), ${key_count},
                                         group_thread);
      }
      if constexpr (tile_commits == 2) commit_copies();
      if (i < tiles) {
        copy_tile<tile_k, group_threads>(v_tiles + stage * tile_bytes, v_head, first_key(i), ${key_count},
                                         group_thread);
      }
      commit_copies();
    };
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);
