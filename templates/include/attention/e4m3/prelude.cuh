//% takes causal, rows_may_be_empty, window = 0, log_sum_exp = false
// What kernels of e4m3 attention on warpgroups share: the primitives, the products, the choices and the sizes.
#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/stmatrix.cuh"
#include "include/math.cuh"
#include "include/f16x2.cuh"
#include "include/warp.cuh"
#include "include/warpgroup.cuh"
#include "include/mbarrier.cuh"
#include "include/tma.cuh"
#include "include/wgmma.cuh"
#include "include/mma.cuh"
#include "include/cluster.cuh"
#include "include/grid_dependency.cuh"
#include "include/attention/choices.cuh"

//% include "include/wgmma_product.cuh" with name = 'multiply_qk', columns = tile_k, operands = 'e4m3', result = score_type, rows = q_operand == 'smem' ? 'smem' : 'registers'

//% include "include/wgmma_product.cuh" with name = 'multiply_pv', columns = part_columns, operands = 'e4m3'

//% include "include/wgmma_product.cuh" with name = 'multiply_pv_last', columns = part_columns + sum_columns, operands = v_path == 'widened' ? 'f16' : 'e4m3', b = v_path == 'widened' ? 'columns' : 'rows'

constexpr QueryOperand q_operand = QueryOperand::${q_operand};
constexpr ValuePath v_path = ValuePath::${v_path};
constexpr Schedule schedule = Schedule::${schedule};
constexpr RowSum sum_by = RowSum::${row_sum == 'products' ? 'adds' : row_sum};
constexpr bool sums_by_products = ${row_sum == 'products'};
constexpr KeyOrder kv_order = KeyOrder::${kv_order};
constexpr Epilogue epilogue = Epilogue::${epilogue};
constexpr DependentLaunch pdl = DependentLaunch::${pdl};
constexpr bool persistent = ${persistent};
constexpr bool merges = ${merges};                 // groups or CTAs of a cluster bring their rows together
constexpr bool split_over_cluster = ${split_over_cluster};
constexpr bool split_over_grid = ${split_over_grid};
constexpr bool register_split = ${register_split};
constexpr bool passes_tiles = ${passes_tiles};           // those that no row of the warpgroup sees,
constexpr bool passes_before = ${passes_before};          // ahead of the others
constexpr bool passes_after = ${passes_after};           // and behind them
constexpr bool causal = ${causal};
constexpr bool has_window = ${window > 0};
constexpr bool rows_may_be_empty = ${rows_may_be_empty};      // whether a tile may have no key for a row
constexpr bool scores_are_f32 = ${score_type == 'f32'};
constexpr bool weighs_f32 = ${weigh_type == 'f32'};             // the type of the scores whose maximum is searched
constexpr bool unrounded = ${exponential == 'unrounded'};              // the row's maximum
constexpr bool weights_are_f32 = scores_are_f32 && !unrounded;  // else f16, in pairs
constexpr bool multiplies_again = ${large_scores == 'again'};       // scores, where they are large
// Whether the FMA that scales f16 scores takes their maximum off, too.
constexpr bool scales_at_once = ${large_scores == 'again' && weigh_type == 'f16' && code_by == 'converter'};
constexpr float resolved_octaves = ${log_sum_exp ? 4 : 16};       // to which a row's maximum is right enough as multiplied
constexpr bool widened = ${v_path == 'widened'};                // values are f16 codes in the second product
constexpr bool values_arrive_as_operand = ${v_path == 'prepass' || v_path == 'given'};
constexpr bool producer_prepares = ${producer_prepares};
constexpr bool consumers_prepare = ${v_path == 'consumers' || v_path == 'all'};

constexpr int head_dim = ${D};
constexpr int tile_k = ${tile_k};                // keys of one tile
constexpr int tile_q = ${tile_q};                // query rows of the CTA
constexpr int row_bytes = ${row_bytes};             // of q, k and v in shared memory: longer rows lie in panels
constexpr int row_panels = ${D / row_bytes};
constexpr int row_warpgroups = ${warpgroups_q};          // of a group
constexpr int groups = ${warpgroups_k};
constexpr int kv_split = ${kv_split};                // CTAs that share a query tile
constexpr int stages = ${stages};                  // tiles of a group in shared memory
constexpr int preparing_warps = ${max(1, preparing_warps)};         // warps that share the preparation of a value tile, if any do
constexpr int consumer_threads = ${128 * warpgroups};
constexpr int merging_threads = consumer_threads;
constexpr bool works_in_pairs = false;
constexpr int threads = ${threads};
constexpr int producer_registers = ${producer_registers};      // of a thread, if registers are split
constexpr int consumer_registers = ${consumer_registers};
constexpr int score_registers = tile_k / (scores_are_f32 ? 2 : 4);
constexpr int weight_registers = ${weight_registers};
constexpr int step_keys = ${step_keys};              // of one instruction of the second product
constexpr int early_keys = ${early_keys};              // of a tile: their output may start before the others are weighed
constexpr int early_registers = 4 * early_keys / step_keys;  // of their weights
constexpr int sum_columns = ${sum_columns};              // columns of ones beside the values
constexpr int promote_tiles = ${promote_tiles};           // whose products are summed in the tensor cores alone; 0: all
constexpr bool promotes_early = ${promotes_early};         // the output of a tile's early keys by itself
constexpr int output_parts = ${output_parts};
constexpr int part_columns = ${part_columns};           // of a part of the output
constexpr int part_registers = part_columns / 2;
constexpr int o_registers = (head_dim + sum_columns) / 2;
constexpr int group_bytes = ${group_bytes};        // of a group's tiles, and of its partial rows later
constexpr int panel = ${panel};                  // keys of a panel of transposed values
constexpr int panel_bytes = widened ? tile_k * 128 : (head_dim + sum_columns) * panel;

// Named barriers. 0: of __syncthreads, 1..groups: of a group.
constexpr int consumers_barrier = groups + 1;
constexpr int turn_barrier = groups + 2;         // of the first warpgroup; the second's follows
constexpr int staging_barrier = groups + 4;      // of each row's warpgroup
constexpr int query_barrier = groups + 8;        // of each row's warpgroups

constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite

// Scores of a tile, as the first product leaves them: f32, or two keys together.
typedef float F32Scores[tile_k / 2];
typedef f16x2 F16Scores[tile_k / 4];
typedef ${score_type == 'f32' ? 'F32Scores' : 'F16Scores'} TileScores;
