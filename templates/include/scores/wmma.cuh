// The score product with nvcuda::wmma: codes become f16 numbers in shared memory, scores leave through it. Needs
// wmma_tiles.cuh and scores/epilogue.cuh, and the sizes of the including file.

// Keys lie in rows: as columns of their transpose they are a column-major operand.
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> KeyOperand;

// Scores of a CTA: its query rows with `walk` key tiles. `prepare(table)` is called once and gives the decoders
// `query` and `key`, whose table it may fill, and the `scale` of the sums. Shared memory: queries | keys | scores |
// codes of keys under way | table.
template <typename Prepare>
__device__ __forceinline__ void make_scores(unsigned char* smem, const unsigned char* __restrict__ q,
                                            const unsigned char* __restrict__ k, Score* __restrict__ s, int M, int N,
                                            const Prepare& prepare) {
  __half* q_tile = reinterpret_cast<__half*>(smem);
  __half* k_tile = q_tile + tile_m * tile_pitch;
  float* staging = reinterpret_cast<float*>(k_tile + tile_n * tile_pitch);
  unsigned char* codes = reinterpret_cast<unsigned char*>(staging) + tile_m * staged_row_bytes;
  const shared_address table = shared_address_of(codes + ${code_bytes});
  const int warp_row = threadIdx.x / 32 % warps_m * 16 * m_tiles;
  const int warp_key = threadIdx.x / 32 / warps_m * 16 * n_tiles;
  const int head = blockIdx.z;
  const int first_row = blockIdx.y * tile_m;
  const int first_tile = blockIdx.x * walk;

//% if waits_for_launches
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  const unsigned char* k_head = k + (long long)head * N * head_dim;
  const int tiles = min(walk, (N + tile_n - 1) / tile_n - first_tile);
  const auto first_key = [&](int i) { return (first_tile + i) * tile_n; };
//% if copy == 'cp_async'
  // Groups are closed for tiles past the last too, so that counting them is the same all the way.
  const auto start_copy = [&](int i) {
    if (i < tiles) {
      copy_codes<tile_n>(codes + i % stages * tile_n * head_dim, k_head + (long long)first_key(i) * head_dim,
                         N - first_key(i));
    }
    commit_copies();
  };
#pragma unroll
  for (int i = 0; i < stages; ++i) start_copy(i);
//% end

  const auto decoders = prepare(table);
  decode_tile<tile_m>(q_tile, q + ((long long)head * M + first_row) * head_dim, M - first_row, decoders.query);
  __syncthreads();
//% if q_operand == 'registers'
  RowOperand query[m_tiles][head_dim / 16];
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
      wmma::load_matrix_sync(query[m][step], q_tile + (warp_row + 16 * m) * tile_pitch + 16 * step, tile_pitch);
    }
  }
//% end

#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
//% if copy == 'cp_async'
    wait_for_copies<stages - 1>();
    __syncthreads();  // the codes of every thread are here
    decode_tile<tile_n>(k_tile, codes + i % stages * tile_n * head_dim, N - first_key(i), decoders.key);
    __syncthreads();
    start_copy(i + stages);
//% else
    decode_tile<tile_n>(k_tile, k_head + (long long)first_key(i) * head_dim, N - first_key(i), decoders.key);
    __syncthreads();
//% end

    Sums scores[m_tiles][n_tiles];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) wmma::fill_fragment(scores[m][n], 0.0f);
    }
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
//% if q_operand == 'smem'
      RowOperand query[m_tiles];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        wmma::load_matrix_sync(query[m], q_tile + (warp_row + 16 * m) * tile_pitch + 16 * step, tile_pitch);
      }
//% end
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) {
        KeyOperand keys;
        wmma::load_matrix_sync(keys, k_tile + (warp_key + 16 * n) * tile_pitch + 16 * step, tile_pitch);
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          wmma::mma_sync(scores[m][n], query[m]${q_operand == 'smem' ? '' : '[step]'}, keys, scores[m][n]);
        }
      }
    }
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) {
        wmma::store_matrix_sync(staging + (warp_row + 16 * m) * (staged_row_bytes / 4) + warp_key + 16 * n,
                                scores[m][n], staged_row_bytes / 4, wmma::mem_row_major);
      }
    }
    __syncthreads();  // every warp is done with the key tile, too
    store_staged(s + (long long)head * M * N, shared_address_of(staging), decoders.scale, first_row, first_key(i), M,
                 N);
  }
}
