  // Where a thread's warp stands, where the CTA's tiles lie, and the copies that go ahead.
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * 16 * m_tiles;
  const int warp_key = warp / warps_m * 8 * n_tiles;
  const int head = blockIdx.z;
  constexpr bool keys_first = ${grid_order == 'keys_first'};
  const int first_row = (keys_first ? blockIdx.y : blockIdx.x) * tile_m;
  const int first_tile = (keys_first ? blockIdx.x : blockIdx.y) * walk;
  const shared_address smem = shared_address_of(smem_storage);
  const shared_address k_tiles = smem + q_bytes;
  const shared_address staging = k_tiles + stages * tile_bytes;

  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const unsigned char* q_head = q + (long long)head * M * head_dim;
  const unsigned char* k_head = k + (long long)head * N * head_dim;
  Score* s_head = s + (long long)head * M * N;
  const int tiles = min(walk, (N + tile_n - 1) / tile_n - first_tile);

  if constexpr (q_operand != QueryOperand::global) {
    copy_tile<tile_m, threads>(smem, q_head, first_row, M, threadIdx.x);
    if constexpr (copies_run_ahead) commit_copies();
  }
  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is the same
  // all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) {
      copy_tile<tile_n, threads>(k_tiles + stage * tile_bytes, k_head, (first_tile + i) * tile_n, N, threadIdx.x);
    }
    commit_copies();
  };
  if constexpr (copies_run_ahead) {
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);
  }
