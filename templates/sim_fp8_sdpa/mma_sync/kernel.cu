// sim_fp8_sdpa/mma_sync: o = softmax(scale q k^T) v with affine codes of 8 bits, in one pass over the keys. A CTA has ${tile_q}
// query rows of one head: ${warps_q} warp(s) side by side over the rows, ${warps_k} group(s) of them over the keys.
// docs/kernels/sim_fp8.md tells the algorithm and the layouts.
//% if mask == 'causal'
// Row i of M attends to keys 0 to N - M + i: tiles beyond the CTA's last row are skipped.
//% end
//% let copy = 'cp_async'

//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/cp_async.cuh"

//% include "include/swizzle.cuh"

//% include "include/ldmatrix.cuh"

//% include "include/mma.cuh"

//% include "include/math.cuh"

//% include "include/f16x2.cuh"

//% include "include/warp.cuh"

//% if waits_for_launches
//%   include "include/grid_dependency.cuh"

//% end
//% include "include/affine_codes.cuh"

constexpr int head_dim = ${D};
constexpr int tile_q = ${tile_q};                 // query rows of the CTA
constexpr int tile_k = ${tile_k};                 // keys of one tile
constexpr int warps_q = ${warps_q};                 // warps of a group
constexpr int groups = ${warps_k};
constexpr int kv_split = ${kv_split};                // CTAs that share the keys of a query tile
constexpr int m_tiles = ${m_tiles};                 // tiles of 16 query rows of a warp
constexpr int n_tiles = tile_k / 8;
constexpr int o_tiles = head_dim / 8;
constexpr int group_threads = 32 * warps_q;
constexpr int threads = group_threads * groups;
constexpr int stages = ${stages};                  // key and value tiles in shared memory for each group
constexpr int row_chunks = head_dim / 16;
constexpr int row_bytes = ${row_bytes};
constexpr int tile_bytes = ${tile_bytes};
constexpr int q_bytes = ${q_bytes};               // of the query tile
constexpr int group_bytes = ${group_bytes};           // of a group's tiles, and of its partial rows later
//% if key_dequant == 'table'
typedef TableDecoder KeyDecoder;
//% elif key_dequant == 'fma'
typedef FmaDecoder KeyDecoder;
//% elif key_dequant == 'raw'
typedef RawDecoder KeyDecoder;
//% else
typedef BytesDecoder KeyDecoder;
//% end
//% if value_dequant == 'table'
typedef TableDecoder ValueDecoder;
//% elif value_dequant == 'fma'
typedef FmaDecoder ValueDecoder;
//% elif value_dequant == 'raw'
typedef RawDecoder ValueDecoder;
//% else
typedef BytesDecoder ValueDecoder;
//% end

//% include "include/tiles.cuh"

//% include "include/affine_queries.cuh"

//% include "sim_fp8_sdpa/work.cuh"

//% include "sim_fp8_sdpa/output.cuh"

//% include "sim_fp8_sdpa/softmax.cuh"

//% include "rows.cuh"

// Waits for the other warps of a group, and makes what they wrote to shared memory visible.
__device__ __forceinline__ void sync_group(int group) {
//% if warps_q == 1
  __syncwarp();
//% elif warps_k == 1
  __syncthreads();
//% else
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(group_threads) : "memory");
//% end
}

//% include "products.cuh"

//% if register_cap > 0
extern "C" __global__ void sim_fp8_sdpa(
//% else
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) sim_fp8_sdpa(
//% end
    const unsigned char* __restrict__ q, const unsigned char* __restrict__ k, const unsigned char* __restrict__ v,
    const float* __restrict__ q_scales, const float* __restrict__ k_scales, const float* __restrict__ v_scales,
    const unsigned char* __restrict__ q_zeros, const unsigned char* __restrict__ k_zeros,
    const unsigned char* __restrict__ v_zeros, half_bits* __restrict__ o, float* __restrict__ partial_o,
    float2* __restrict__ partial_statistics, float softmax_scale, int M, int N, int heads) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const int lane = threadIdx.x % 32;
  const int warp_q = threadIdx.x / 32 % warps_q;
  const int group = threadIdx.x / group_threads;
  const int group_thread = threadIdx.x % group_threads;
  const int warp_row = warp_q * 16 * m_tiles;
  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;
  const shared_address k_table = smem + q_bytes + groups * group_bytes;
  const shared_address v_table = k_table + ${key_dequant == 'table' ? 'table_bytes' : '0'};
  const Output output = {o, partial_o, partial_statistics, M, heads};
  constexpr float log2_e = 1.4426950408889634f;

//% if waits_for_launches
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  for_each_work(M, N, heads, [&](const Work& work) {
    const unsigned char* q_head = q + (long long)work.head * M * head_dim;
    const unsigned char* k_head = k + (long long)work.head * N * head_dim;
    const unsigned char* v_head = v + (long long)work.head * N * head_dim;
    const int first_tile = first_tile_of(work, group);
    const int tiles = work.tiles > first_tile ? (work.tiles - first_tile + tile_step - 1) / tile_step : 0;
    const auto first_key = [&](int i) { return first_key_of(first_tile + i * tile_step, work); };

//% if q_operand != 'global'
    copy_tile<tile_q, threads>(smem, q_head, work.first_row, M, threadIdx.x);
    commit_copies();
//% end
    // Tile i goes to stage i % stages. Groups of copies are closed for tiles past the last too, so that counting them is
    // the same all the way.
    const auto start_copy = [&](int i, int stage) {
      if (i < tiles) {
        copy_tile<tile_k, group_threads>(k_tiles + stage * tile_bytes, k_head, first_key(i), N, group_thread);
      }
//% if arrival == 'split'
      commit_copies();
//% end
      if (i < tiles) {
        copy_tile<tile_k, group_threads>(v_tiles + stage * tile_bytes, v_head, first_key(i), N, group_thread);
      }
      commit_copies();
    };
    constexpr int tile_commits = ${arrival == 'split' ? 2 : 1};  // groups of copies of a tile
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);

    const int index = scale_index(work.head);
    const float scale = q_scales[index] * k_scales[index] * softmax_scale * log2_e * KeyDecoder::unit;  // to octaves
    const BytesDecoder query_decoder(q_zeros[index]);
    const KeyDecoder key_decoder(k_zeros[index], k_table);
    const ValueDecoder value_decoder(v_zeros[index], v_table);
    const ValueScale value_scale(v_scales, v_zeros, work.head);
//% if key_dequant == 'table'
    fill_table<threads>(k_table, k_zeros[index], threadIdx.x);
//% end
//% if value_dequant == 'table'
    fill_table<threads>(v_table, v_zeros[index], threadIdx.x);
//% end

    QueryRows query[m_tiles];
//% if q_operand == 'global'
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      load_query(query[m], q_head, work.first_row + warp_row + 16 * m, M, query_decoder, lane);
    }
//%   if tables > 0
    __syncthreads();
//%   end
//% else
    wait_for_copies<stages * tile_commits>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) load_query(query[m], smem, warp_row + 16 * m, query_decoder, lane);
//% end

    Accumulators acc_o[m_tiles] = {};
    float row_sum[m_tiles][2] = {};${row_sum == 'adds' ? '  // of this lane' : ''}
    float row_max[m_tiles][2];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) row_max[m][0] = row_max[m][1] = lowest_max;

    int stage = 0;
#pragma unroll 1
    for (int i = 0; i < tiles; ++i) {
      const shared_address k_tile = k_tiles + stage * tile_bytes;
      const shared_address v_tile = v_tiles + stage * tile_bytes;
      wait_for_copies<stages * tile_commits - 1>();
      sync_group(group);

      Scores scores[m_tiles] = {};
      multiply_qk(scores, query, k_tile, key_decoder, lane);
      f16x2 weights[m_tiles][n_tiles / 2][4];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        const int first_row = work.first_row + warp_row + 16 * m;
        mask_tile(scores[m], first_key(i), first_row, first_row + lane / 4, M, N, lane);
        float tile_max[2];
        float shrink[2];
        find_tile_max(tile_max, scores[m], scale);
        raise_row_max(row_max[m], shrink, tile_max);
        rescale(acc_o[m], shrink);
        row_sum[m][0] *= shrink[0];
        row_sum[m][1] *= shrink[1];
        weigh(scores[m], scale, row_max[m]);
//% if row_sum == 'adds'
        add_weights(row_sum[m], scores[m]);
//% end
        pack_weights(weights[m], scores[m]);
      }

//% if arrival == 'split'
      wait_for_copies<stages * tile_commits - 2>();
      sync_group(group);
//% end
      multiply_pv(acc_o, row_sum, weights, v_tile, value_decoder, lane);

      if (i + stages < tiles) sync_group(group);  // every warp is done with the stage
      start_copy(i + stages, stage);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }

//% if row_sum == 'adds'
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) row_sum[m][r] = quad_sum(row_sum[m][r]);
    }
//% end
//% if merges
    sync_group(group);  // the group is done with its tiles: their room serves its partial rows
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      leave_partial_rows(k_tiles, warp_row + 16 * m, acc_o[m], row_max[m], row_sum[m], lane);
    }
    __syncthreads();
    merge_rows(smem + q_bytes, output, work, value_scale);
//% else
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      store_rows(output, work, work.first_row + warp_row + 16 * m, acc_o[m], row_max[m], row_sum[m], value_scale,
                 lane);
    }
//% end
//% if persistent
    __syncthreads();  // every warp is done with this query tile's shared memory
//% end
  });
}
//% if kv_split > 1

//%   include "sim_fp8_sdpa/combine.cuh"
//% end
