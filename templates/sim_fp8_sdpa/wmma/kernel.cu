// sim_fp8_sdpa/wmma: o = softmax(scale q k^T) v with affine codes of 8 bits and nvcuda::wmma, in one pass over the keys.
// A CTA has ${tile_q} query rows of one head, 16 for each warp. Codes become f16 numbers in shared memory.
//% if mask == 'causal'
// Row i of M attends to keys 0 to N - M + i: tiles beyond the CTA's last row are skipped.
//% end

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/math.cuh"
#include "include/f16x2.cuh"
#include "include/grid_dependency.cuh"
#include "include/affine_codes.cuh"

constexpr int head_dim = ${D};
constexpr int tile_q = ${tile_q};                 // query rows of the CTA
constexpr int tile_k = ${tile_k};                 // keys of one tile
constexpr int groups = 1;
constexpr int kv_split = ${kv_split};                // CTAs that share the keys of a query tile
constexpr int threads = ${threads};
constexpr int stages = ${stages};                  // tiles of codes in shared memory
constexpr int code_bytes = tile_k * head_dim;   // of a tile of keys or values
constexpr int tile_pitch = ${tile_pitch};             // numbers from row to row of a tile

#include "sim_fp8_sdpa/decoders.cuh"

#include "include/affine_wmma.cuh"

#include "sim_fp8_sdpa/work.cuh"

#include "sim_fp8_sdpa/output.cuh"

#include "rows.cuh"

// Keys lie in rows: as columns of their transpose they are a column-major operand. Values are a row-major one.
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> KeyOperand;
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> ValueOperand;

// sums[n] += rows x columns_at(n), a step of 16 depths.
template <typename Columns, int length, typename ColumnsAt>
__device__ __forceinline__ void multiply_step(Sums (&sums)[length], const __half* rows, int pitch,
                                              const ColumnsAt& columns_at) {
  RowOperand row_operand;
  wmma::load_matrix_sync(row_operand, rows, pitch);
#pragma unroll
  for (int n = 0; n < length; ++n) {
    Columns columns;
    wmma::load_matrix_sync(columns, columns_at(n), tile_pitch);
    wmma::mma_sync(sums[n], row_operand, columns, sums[n]);
  }
}

__device__ __forceinline__ void multiply_qk(float* scores, const __half* query, const __half* k_tile) {
  Sums sums[tile_k / 16];
#pragma unroll
  for (int n = 0; n < tile_k / 16; ++n) wmma::fill_fragment(sums[n], 0.0f);
#pragma unroll
  for (int step = 0; step < head_dim / 16; ++step) {
    multiply_step<KeyOperand>(sums, query + 16 * step, tile_pitch,
                              [&](int n) { return k_tile + 16 * n * tile_pitch + 16 * step; });
  }
#pragma unroll
  for (int n = 0; n < tile_k / 16; ++n) {
    wmma::store_matrix_sync(scores + 16 * n, sums[n], score_pitch, wmma::mem_row_major);
  }
}

__device__ __forceinline__ void multiply_pv(Sums (&acc_o)[head_dim / 16], const __half* weights,
                                            const __half* v_tile) {
#pragma unroll 1  // else the compiler loads the fragments of many steps ahead, and spills
  for (int step = 0; step < tile_k / 16; ++step) {
    multiply_step<ValueOperand>(acc_o, weights + 16 * step, weight_pitch,
                                [&](int part) { return v_tile + 16 * step * tile_pitch + 16 * part; });
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) sim_fp8_sdpa(
#include "sim_fp8_sdpa/parameters.cuh"
) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  __half* q_tile = reinterpret_cast<__half*>(smem_storage);
  __half* k_tile = q_tile + tile_q * tile_pitch;
  __half* v_tile = k_tile + tile_k * tile_pitch;
  unsigned char* codes = reinterpret_cast<unsigned char*>(v_tile + tile_k * tile_pitch);
  unsigned char* warp_memory = codes + ${staged_bytes};
  const shared_address k_table = shared_address_of(warp_memory + tile_q / 16 * ${warp_bytes});
  const shared_address v_table = k_table + ${key_dequant == 'table' ? 'table_bytes' : '0'};
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  const WarpMemory memory(warp_memory + threadIdx.x / 32 * ${warp_bytes});
  const RowsOfElements elements(memory.scores, lane);
  const Output output = {o, partial_o, partial_statistics, M, heads};

//% if waits_for_launches
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  for_each_work(M, N, heads, [&](const Work& work) {
    const unsigned char* k_head = k + (long long)work.head * N * head_dim;
    const unsigned char* v_head = v + (long long)work.head * N * head_dim;
    constexpr int group = 0;
#include "include/attention/group_tiles.cuh"
//% if copy == 'cp_async'
    // Groups are closed for tiles past the last too, so that counting them is the same all the way.
    const auto start_copy = [&](int i) {
      if (i < tiles) {
        unsigned char* to = codes + i % stages * 2 * code_bytes;
        const long long from = (long long)first_key(i) * head_dim;
        copy_codes<tile_k>(to, k_head + from, N - first_key(i));
        copy_codes<tile_k>(to + code_bytes, v_head + from, N - first_key(i));
      }
      commit_copies();
    };
#pragma unroll
    for (int i = 0; i < stages; ++i) start_copy(i);
//% end

#include "sim_fp8_sdpa/decode_head.cuh"
    decode_tile<tile_q>(q_tile, q + ((long long)work.head * M + work.first_row) * head_dim, M - work.first_row,
                        query_decoder);
    fill_tables(k_table, k_zeros[index], v_table, v_zeros[index]);

    Sums acc_o[head_dim / 16];
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) wmma::fill_fragment(acc_o[part], 0.0f);
    const int row = work.first_row + warp_row + lane / 2;
    float row_sum = 0.0f;
    float row_max = lowest_max;

#pragma unroll 1
    for (int i = 0; i < tiles; ++i) {
//% if copy == 'cp_async'
      const unsigned char* k_codes = codes + i % stages * 2 * code_bytes;
      const unsigned char* v_codes = k_codes + code_bytes;
      wait_for_copies<stages - 1>();
//% else
      const unsigned char* k_codes = k_head + (long long)first_key(i) * head_dim;
      const unsigned char* v_codes = v_head + (long long)first_key(i) * head_dim;
//% end
      __syncthreads();  // every warp is done with the tile before
      decode_tile<tile_k>(k_tile, k_codes, N - first_key(i), key_decoder);
      decode_tile<tile_k>(v_tile, v_codes, N - first_key(i), value_decoder);
      __syncthreads();
//% if copy == 'cp_async'
      start_copy(i + stages);
//% end

      multiply_qk(memory.scores, q_tile + warp_row * tile_pitch, k_tile);
      __syncwarp();
//% if mask == 'causal'
      const int keys = min(N, row + N - M + 1) - first_key(i);
//% else
      const int keys = N - first_key(i);
//% end
      weigh_row(memory, keys, scale, row_max, row_sum, lane);
      __syncwarp();
//% if rescale == 'always'
      scale_rows(acc_o, elements, memory.factors);
//% else
      if (__any_sync(0xffffffffu, memory.factors[lane / 2] != 1.0f)) scale_rows(acc_o, elements, memory.factors);
//% end
      multiply_pv(acc_o, memory.weights, v_tile);
    }

    __syncwarp();
    store_rows(output, work, work.first_row + warp_row, acc_o, memory, row_max, row_total(row_sum), value_scale, lane);
//% if persistent
    __syncthreads();  // every warp is done with this query tile's shared memory
//% end
  });
}

#include "sim_fp8_sdpa/combine.cuh"
