// Sizes of a kernel whose warps stand side by side over the query rows, in groups that share the keys.
constexpr int head_dim = ${D};
constexpr int tile_q = ${tile_q};                 // query rows of the CTA
constexpr int tile_k = ${tile_k};                 // keys of one tile
constexpr int warps_q = ${warps_q};                 // warps of a group
constexpr int groups = ${warps_k};
constexpr int kv_split = ${kv_split};                // CTAs that share the keys of a query tile
constexpr int m_tiles = ${m_tiles};                 // tiles of 16 query rows of a warp
constexpr int group_threads = 32 * warps_q;
constexpr int threads = group_threads * groups;
constexpr int stages = ${stages};                  // key and value tiles in shared memory for each group
constexpr int tile_bytes = ${tile_bytes};
constexpr int q_bytes = ${q_bytes};               // of the query tile
constexpr int group_bytes = ${group_bytes};           // of a group's tiles, and of its partial rows later
