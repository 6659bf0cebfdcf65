//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/swizzle.cuh"

//% include "include/ldmatrix.cuh"

//% include "include/stmatrix.cuh"

//% include "include/math.cuh"

//% include "include/f16x2.cuh"

//% include "include/warp.cuh"

//% include "include/warpgroup.cuh"

//% include "include/mbarrier.cuh"

//% include "include/tma.cuh"

//% include "include/wgmma.cuh"

//% if split_over_cluster
//%   include "include/cluster.cuh"

//% end
//% if pdl != 'none'
//%   include "include/grid_dependency.cuh"

//% end
//% if true
//%   let product_name = 'multiply_qk'
//%   let product_columns = tile_k
//%   let product_type = score_type
//%   let product_rows = q_operand == 'smem' ? 'smem' : 'registers'
//%   let product_operands = 'e4m3'
//%   include "include/wgmma_product.cuh"

//% end
//% if output_parts > 1
//%   let product_name = 'multiply_pv'
//%   let product_columns = part_columns
//%   let product_type = 'f32'
//%   let product_rows = 'registers'
//%   let product_operands = 'e4m3'
//%   include "include/wgmma_product.cuh"

//% end
//% if true
//%   let product_name = 'multiply_pv_last'
//%   let product_columns = part_columns + sum_columns
//%   let product_type = 'f32'
//%   let product_rows = 'registers'
//%   let product_operands = v_path == 'widened' ? 'f16' : 'e4m3'
//%   include "include/wgmma_product.cuh"

//% end
constexpr int head_dim = ${D};
constexpr int tile_k = ${tile_k};                // keys of one tile
constexpr int tile_q = ${tile_q};                // query rows of the CTA
constexpr int row_bytes = ${row_bytes};             // of q, k and v in shared memory: longer rows lie in panels
constexpr int row_panels = ${D / row_bytes};
constexpr int row_warpgroups = ${warpgroups_q};          // of a group
constexpr int groups = ${warpgroups_k};
constexpr int kv_split = ${kv_split};                // CTAs that share a query tile
constexpr int stages = ${stages};                  // tiles of a group in shared memory
//% if preparing_warps > 0
constexpr int preparing_warps = ${preparing_warps};         // warps that share the preparation of a value tile
//% end
constexpr int consumer_threads = ${128 * warpgroups};
constexpr int threads = ${threads};
constexpr int score_registers = tile_k / ${score_type == 'f32' ? 2 : 4};
constexpr int weight_registers = ${weight_registers};
//% if schedule == 'early_output'
constexpr int early_keys = ${early_keys};              // of a tile: their output starts before the others are weighed
//% end
constexpr int part_registers = ${part_columns / 2};         // of the output, ${output_parts} part(s)
constexpr int o_registers = ${(D + sum_columns) / 2};
constexpr int group_bytes = ${group_bytes};        // of a group's tiles, and of its partial rows later
//% if merges
constexpr int merging_threads = consumer_threads;
//% end
//% if warpgroups_k > 1
constexpr int consumers_barrier = groups + 1;    // 1..groups: of a group; 0: of __syncthreads
//% end
//% if schedule == 'ping_pong'
constexpr int turn_barrier = groups + 2;         // of the first warpgroup; the second's follows
//% end
//% if epilogue == 'tma'
constexpr int staging_barrier = groups + 4;      // of each row's warpgroup
//% end
//% if q_operand == 'smem' && weigh_type == 'f16'
constexpr int query_barrier = groups + 8;        // of each row's warpgroups
//% end
constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite
typedef ${score_type == 'f32' ? 'float' : 'f16x2'} Score;
