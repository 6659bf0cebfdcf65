// sim_fp8_qkt/wmma: s = q k^T${scaled ? ' / sqrt(D)' : ''} on affine codes of 8 bits with nvcuda::wmma, ${out} scores. A CTA has ${tile_m} query rows of
// one head and works through ${walk} tile(s) of ${tile_n} keys, which become f16 numbers in shared memory.
//% let epilogue = 'staged'

//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/cp_async.cuh"

//% include "include/f16x2.cuh"

//% if waits_for_launches
//%   include "include/grid_dependency.cuh"

//% end
//% include "include/affine_codes.cuh"

constexpr int head_dim = ${D};
constexpr int tile_m = ${tile_m};                       // query rows of the CTA
constexpr int tile_n = ${tile_n};                       // keys of one tile
constexpr int warps_m = ${warps_m};
constexpr int warps_n = ${warps_n};
constexpr int walk = ${walk};                           // key tiles of the CTA
constexpr int stages = ${stages};                       // tiles of codes in shared memory
constexpr int m_tiles = ${m_tiles};                     // tiles of 16 query rows of a warp
constexpr int n_tiles = ${n_tiles};                     // tiles of 16 keys of a warp
constexpr int threads = 32 * warps_m * warps_n;
constexpr int tile_pitch = ${tile_pitch};                   // numbers from row to row of a tile
//% if dequant == 'table'
typedef TableDecoder KeyDecoder;
//% elif dequant == 'fma'
typedef FmaDecoder KeyDecoder;
//% else
typedef BytesDecoder KeyDecoder;
//% end

//% include "include/affine_wmma.cuh"

//% include "sim_fp8_qkt/epilogue.cuh"

// Keys lie in rows: as columns of their transpose they are a column-major operand.
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> KeyOperand;

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) sim_fp8_qkt(
    const unsigned char* __restrict__ q, const unsigned char* __restrict__ k, const float* __restrict__ q_scales,
    const float* __restrict__ k_scales, const unsigned char* __restrict__ q_zeros,
    const unsigned char* __restrict__ k_zeros, Score* __restrict__ s, int M, int N) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  __half* q_tile = reinterpret_cast<__half*>(smem_storage);
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

  const BytesDecoder query_decoder(q_zeros[scale_index(head)]);
  const KeyDecoder key_decoder(k_zeros[scale_index(head)], table);
  const float scale = score_scale(q_scales, k_scales, head) * KeyDecoder::unit;
  decode_tile<tile_m>(q_tile, q + ((long long)head * M + first_row) * head_dim, M - first_row, query_decoder);
//% if dequant == 'table'
  fill_table<threads>(table, k_zeros[scale_index(head)], threadIdx.x);
//% end
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
    __syncthreads();  // the codes are here, and every warp is done with the tile before
    decode_tile<tile_n>(k_tile, codes + i % stages * tile_n * head_dim, N - first_key(i), key_decoder);
    __syncthreads();
    start_copy(i + stages);
//% else
    __syncthreads();  // every warp is done with the tile before
    decode_tile<tile_n>(k_tile, k_head + (long long)first_key(i) * head_dim, N - first_key(i), key_decoder);
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
    __syncthreads();
    store_staged(s + (long long)head * M * N, shared_address_of(staging), scale, first_row, first_key(i), M, N);
  }
}
