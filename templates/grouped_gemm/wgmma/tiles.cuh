// The producer finds the tiles that a CTA makes, and passes them on to the consumers through ${tile_slots} slots of shared memory.
//% if takes_tiles
// It takes them from a counter in global memory, which begins at zero: CTAs that are ahead take more, and all end at
// about the same time.
//% end

// Behind the stages' barriers: tiles, and barriers that a tile is there and that all consumer warps have read it.
struct TiledMemory : SharedMemory {
  __device__ __forceinline__ shared_address tile(int slot) const { return full(2 * stages) + 32 * slot; }
  __device__ __forceinline__ shared_address tile_full(int slot) const { return tile(slot) + 16; }
  __device__ __forceinline__ shared_address tile_free(int slot) const { return tile(slot) + 24; }
};

__device__ __forceinline__ void init_barriers(const TiledMemory& smem) {
  for (int slot = 0; slot < tile_slots; ++slot) {
    init_barrier(smem.tile_full(slot), 1);
    init_barrier(smem.tile_free(slot), 4 * warpgroups);
  }
  init_barriers(static_cast<const SharedMemory&>(smem));
}

__device__ __forceinline__ int own_rank() { return cluster_n > 1 ? rank_in_cluster() : 0; }

constexpr int no_expert = -1;  // there are no more tiles

// For the producer: calls `body` with each tile of this CTA. The next one is found when all of a tile's loads are under
// way.
template <typename Body>
__device__ __forceinline__ void hand_out_tiles(const TiledMemory& smem, const int* offsets, u32* next_tile, int E,
                                               int N, const Body& body) {
  TileWalk walk{offsets, E, N};
  RingPlace<tile_slots> place;
  int i = blockIdx.x / cluster_n;
  while (true) {
    Tile tile = {no_expert};
    const bool found = walk.find(i, tile);
    tile.first_column += own_rank() * tile_n;
    wait_for(smem.tile_free(place.stage), place.free_parity());
    store_shared(smem.tile(place.stage), make_uint4(tile.expert, tile.first_row, tile.end_row, tile.first_column));
    arrive(smem.tile_full(place.stage));
    place.advance();
    if (!found) return;
    body(tile);
    i = takes_tiles ? gridDim.x + atomicAdd(next_tile, 1) : i + gridDim.x / cluster_n;
  }
}

// For the consumers: calls `body` with the same tiles.
template <typename Body>
__device__ __forceinline__ void follow_tiles(const TiledMemory& smem, const Body& body) {
  RingPlace<tile_slots> place;
  while (true) {
    wait_for(smem.tile_full(place.stage), place.full_parity());
    const uint4 tile = load_shared(smem.tile(place.stage));
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(smem.tile_free(place.stage));
    place.advance();
    if ((int)tile.x == no_expert) return;
    body(Tile{(int)tile.x, (int)tile.y, (int)tile.z, (int)tile.w});
  }
}
