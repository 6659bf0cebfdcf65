#pragma once
// What options and genes of both families choose.
enum class Layout { nk, kn };  // of b: [N, K] or [K, N]
constexpr Layout b_layout = Layout::${b_layout};
constexpr int split_k = ${split_k};  // CTAs that share the depth of a tile: each makes a part of the sums
constexpr bool waits_for_launches = ${dependent_launch && pdl};
