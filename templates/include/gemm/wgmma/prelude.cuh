//% takes tile_k, operands = 'bf16', rows = 'tokens', across = tile_n, b_tiles = 1, b_layout = 'nk', cluster_m = 1
// What kernels of products on warpgroups share: primitives, choices, sizes.
#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/stmatrix.cuh"
#include "include/warpgroup.cuh"
#include "include/mbarrier.cuh"
#include "include/tma.cuh"
#include "include/wgmma.cuh"
#include "include/cluster.cuh"
#include "include/multicast.cuh"
#include "include/grid_dependency.cuh"

//% include "include/wgmma_product.cuh" with name = 'multiply', columns = across, operands, rows = 'smem', b = b_layout == 'nk' ? 'rows' : 'columns', accumulates = 'asked'

constexpr int tile_m = ${tile_m};
constexpr int tile_n = ${tile_n};
constexpr int tile_k = ${tile_k};
constexpr int stages = ${stages};
constexpr int warpgroups = ${warpgroups};            // that consume
constexpr int m_blocks = ${m_blocks};              // blocks of 64 rows of a warpgroup
constexpr bool a_is_rows = ${rows == 'tokens'};          // of a product; else b is
constexpr int product_rows = 64 * warpgroups * m_blocks;
constexpr int across = ${across};              // columns of a product
constexpr int cluster_m = ${cluster_m};
constexpr int cluster_n = ${cluster_n};
constexpr int cluster_size = cluster_m * cluster_n;
constexpr int consumer_threads = 128 * warpgroups;
constexpr int threads = ${threads};
constexpr int b_tiles = ${b_tiles};               // of a stage: matrices that a is multiplied by
constexpr int a_bytes = ${a_bytes};
constexpr int b_bytes = ${b_bytes};           // of one of these tiles
constexpr int stage_bytes = a_bytes + b_tiles * b_bytes;
constexpr int min_blocks = ${min_blocks};            // that must fit on an SM
constexpr bool register_split = ${register_split};    // the producer gives registers to the consumers
constexpr int producer_registers = ${producer_registers};   // of a thread, then
constexpr int consumer_registers = ${consumer_registers};
typedef ${result_bytes == 2 ? 'half_bits' : 'float'} Result;               // c, or parts of the sums

#include "include/gemm/choices.cuh"
#include "include/gemm/results.cuh"
#include "include/gemm/work.cuh"
#include "include/gemm/wgmma/shared_memory.cuh"
#include "include/roles.cuh"
