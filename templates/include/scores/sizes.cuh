// Sizes and choices of a score kernel whose warps share each tile.
constexpr int head_dim = ${D};
constexpr int tile_m = ${tile_m};                       // query rows of the CTA
constexpr int tile_n = ${tile_n};                       // keys of one tile
constexpr int warps_m = ${warps_m};
constexpr int warps_n = ${warps_n};
constexpr int walk = ${walk};                           // key tiles of the CTA
constexpr int stages = ${stages};                       // key tiles in shared memory
constexpr int m_tiles = ${m_tiles};                     // tiles of 16 query rows of a warp
constexpr int n_tiles = ${n_tiles};                     // tiles of keys of a warp
constexpr int threads = 32 * warps_m * warps_n;
constexpr int min_blocks = ${min_blocks};               // CTAs that must fit on an SM, if there is no register cap
constexpr bool copies_run_ahead = ${copy == 'cp_async'};
constexpr bool waits_for_launches = ${waits_for_launches};
enum class QueryOperand { global, registers, smem };
constexpr QueryOperand q_operand = QueryOperand::${q_operand};
