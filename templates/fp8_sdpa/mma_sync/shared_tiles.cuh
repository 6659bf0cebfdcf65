#pragma once
// Tiles in shared memory: rows of codes, or of V^T.
struct SharedTiles : GroupTiles {
  template <typename Registers>
  __device__ __forceinline__ void load_keys(e4m3x4 (&codes)[4], const Tile& tile, const Registers&, int half,
                                            int n) const {
    load_8_rows_half(codes, tile.k, 8 * n, half, lane);
  }

  template <typename Registers>
  __device__ __forceinline__ shared_address await_values(const Tile& tile, Registers&) const {
    return ready_values(tile.v, v_fragments, tile.first_key, S, group, thread, warp_q, lane);
  }
};

// They come through registers, one at a time.
struct PlainTiles : SharedTiles {
  struct Registers {};

  __device__ __forceinline__ void await_keys(const Tile& tile, int, int, Registers&) const {
    sync_group(group);  // the tile before is done with
    copy_tile<tile_k, group_threads, KeyRows>(tile.k, k, tile.first_key, S, thread);
    copy_values(tile.v, v, tile.first_key, S, thread);
    sync_group(group);
  }
};

// The same, and the tile behind is on its way to registers.
struct PrefetchedTiles : SharedTiles {
  struct Registers {
    uint4 k[prefetched_chunks];
    uint4 v[prefetched_chunks];
  };

  __device__ __forceinline__ void fetch_keys(int first_key, Registers& coming) const {
    fetch_tile<KeyRows>(coming.k, k, first_key, S, thread);
  }

  __device__ __forceinline__ void fetch_values(int first_key, Registers& coming) const {
    fetch_value_tile(coming.v, v, first_key, S, thread);
  }

  __device__ __forceinline__ void start(Registers& coming) const {
    if (count > 0) {
      fetch_keys(first_key(0), coming);
      fetch_values(first_key(0), coming);
    }
  }

  static __device__ __forceinline__ void await_keys(const Tile& tile, int group, int thread, const Registers& coming) {
    sync_group(group);  // the tile before is done with
    put_tile(tile.k, coming.k, thread);
    put_values(tile.v, coming.v, thread);
    sync_group(group);
  }
};

// They come with cp.async, tile i to stage i % stages.
struct AsyncTiles : SharedTiles {
  struct Registers {};

  // Groups are closed for tiles past the last too, so that counting them is the same all the way.
  __device__ __forceinline__ void start_copy(int i, int stage) const {
    if (i < count) {
      copy_tile<tile_k, group_threads, KeyRows>(k_tiles + stage * tile_bytes, k, first_key(i), S, thread);
    }
    if constexpr (split_arrival) commit_copies();
    if (i < count) copy_values(v_tiles + stage * v_tile_bytes, v, first_key(i), S, thread);
    commit_copies();
  }

  __device__ __forceinline__ void start(Registers&) const {
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);
  }

  __device__ __forceinline__ void await_keys(const Tile&, int, int, Registers&) const {
    wait_for_copies<stages * tile_copies - 1>();
    sync_group(group);
  }

  __device__ __forceinline__ shared_address await_values(const Tile& tile, Registers& registers) const {
    if constexpr (split_arrival) {
      wait_for_copies<stages * tile_copies - 2>();
      sync_group(group);
    }
    return SharedTiles::await_values(tile, registers);
  }

  __device__ __forceinline__ void end_values(int next, int stage, Registers&) const { start_copy(next, stage); }
};
