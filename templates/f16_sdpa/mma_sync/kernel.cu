// f16_sdpa/mma_sync: o = softmax(scale q k^T) v with ${dtype} q, k, v, in one pass over the keys. A CTA has ${tile_q} query
// rows of one head: ${warps_q} warp(s) side by side over the rows, ${warps_k} group(s) of them over the keys. docs/kernels/f16_sdpa.md
// tells the algorithm and the layouts.
//% if mask == 'causal'
// Row i attends to keys 0 to i: tiles beyond the CTA's last row are skipped.
//% end

//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/cp_async.cuh"

//% include "include/swizzle.cuh"

//% include "include/ldmatrix.cuh"

//% if dtype == 'f16'
//%   include "include/mma.cuh"
//% else
//%   include "include/mma_bf16.cuh"
//% end

//% include "include/math.cuh"

//% include "include/warp.cuh"

//% if waits_for_launches
//%   include "include/grid_dependency.cuh"

//% end
constexpr int head_dim = ${D};
constexpr int tile_q = ${tile_q};                 // query rows of the CTA
constexpr int tile_k = ${tile_k};                 // keys of one tile
constexpr int warps_q = ${warps_q};                 // warps of a group
constexpr int groups = ${warps_k};
constexpr int kv_split = ${kv_split};                // CTAs that share the keys of a query tile
constexpr int m_tiles = ${m_tiles};                 // tiles of 16 query rows of a warp
constexpr int group_threads = 32 * warps_q;
constexpr int threads = group_threads * groups;
//% if merges
constexpr int merging_threads = threads;
//% end
constexpr int score_registers = tile_k / 2;    // of 16 rows
constexpr int o_registers = head_dim / 2;
constexpr int stages = ${stages};                  // key and value tiles in shared memory for each group
constexpr int tile_bytes = ${tile_bytes};
constexpr int q_bytes = ${q_bytes};               // of the query tile
constexpr int group_bytes = ${group_bytes};           // of a group's tiles, and of its partial rows later

//% include "f16_sdpa/softmax.cuh"

//% let works_in_pairs = true
//% include "include/attention/work.cuh"

//% include "f16_sdpa/rows.cuh"

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

//% include "tiles.cuh"

//% include "products.cuh"

//% if register_cap > 0
extern "C" __global__ void f16_sdpa(
//% else
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) f16_sdpa(
//% end
    const half_bits* __restrict__ q, const half_bits* __restrict__ k, const half_bits* __restrict__ v,
    half_bits* __restrict__ o, float* __restrict__ partial_o, float2* __restrict__ partial_statistics,
    float softmax_scale, int S, int heads) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const int lane = threadIdx.x % 32;
  const int warp_q = threadIdx.x / 32 % warps_q;
  const int group = threadIdx.x / group_threads;
  const int group_thread = threadIdx.x % group_threads;
  const int warp_row = warp_q * 16 * m_tiles;
  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;
  const Output output = {o, partial_o, partial_statistics, S, heads};
  constexpr float log2_e = 1.4426950408889634f;
  const float scale = softmax_scale * log2_e;  // scores in octaves

//% if waits_for_launches
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  for_each_work(S, heads, [&](const Work& work) {
    const long long head_start = (long long)work.head * S * head_dim;
    const half_bits* q_head = q + head_start;
    const half_bits* k_head = k + head_start;
    const half_bits* v_head = v + head_start;
    const int first_tile = first_tile_of(work, group);
    const int tiles = work.tiles > first_tile ? (work.tiles - first_tile + tile_step - 1) / tile_step : 0;
    const auto first_key = [&](int i) { return first_key_of(first_tile + i * tile_step, work); };

//% if q_operand != 'global'
    copy_tile<tile_q, threads>(smem, q_head, work.first_row, S, threadIdx.x);
    commit_copies();
//% end
    // Tile i goes to stage i % stages. Groups of copies are closed for tiles past the last too, so that counting them is
    // the same all the way.
    const auto start_copy = [&](int i, int stage) {
      if (i < tiles) {
        copy_tile<tile_k, group_threads>(k_tiles + stage * tile_bytes, k_head, first_key(i), S, group_thread);
      }
//% if arrival == 'split'
      commit_copies();
//% end
      if (i < tiles) {
        copy_tile<tile_k, group_threads>(v_tiles + stage * tile_bytes, v_head, first_key(i), S, group_thread);
      }
      commit_copies();
    };
    constexpr int tile_commits = ${arrival == 'split' ? 2 : 1};  // groups of copies of a tile
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);

//% if q_operand == 'global'
    u32 query[head_dim / 16][m_tiles][4];
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        load_query(query[step][m], q_head, work.first_row + warp_row + 16 * m, S, step, lane);
      }
    }
//% else
    wait_for_copies<stages * tile_commits>();
    __syncthreads();
//%   if q_operand == 'registers'
    u32 query[head_dim / 16][m_tiles][4];
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) load_query(query[step][m], query_start(smem, warp_row + 16 * m, lane), step);
    }
//%   end
//% end
    const auto query_rows = [&](u32(&fragment)[4], int m, int step) {
//% if q_operand == 'smem'
      load_query(fragment, query_start(smem, warp_row + 16 * m, lane), step);
//% else
#pragma unroll
      for (int i = 0; i < 4; ++i) fragment[i] = query[step][m][i];
//% end
    };

    float acc_o[m_tiles][o_registers] = {};
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

      float scores[m_tiles][score_registers] = {};
      multiply_qk(scores, k_tile, lane, query_rows);
      u32 weights[m_tiles][score_registers / 2];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        const int first_row = work.first_row + warp_row + 16 * m;
        mask_tile(scores[m], first_key(i), first_row, first_row + lane / 4, S, lane);
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
      multiply_pv(acc_o, row_sum, weights, v_tile, lane);

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
    merge_rows(smem + q_bytes, output, work);
//% else
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      store_rows(output, work, work.first_row + warp_row + 16 * m, acc_o[m], row_max[m], row_sum[m], lane);
    }
//% end
//% if persistent
    __syncthreads();  // every warp is done with this query tile's shared memory
//% end
  });
}
//% if kv_split > 1

//%   include "f16_sdpa/combine.cuh"
//% end
