#pragma once
// What options and genes of both families choose. Two neighbouring codes of a row are one element of 16 bits (e4m3x2):
// tiles of them move as those of gemm_bf16 do. Depths therefore count pairs of codes; K is their number in a row.
enum class Scaling { tensor, rows, blocks };
constexpr Scaling scaling = Scaling::${scaling};
enum class Layout { nk, kn };
constexpr Layout b_layout = Layout::nk;  // b is [N, K]
constexpr int split_k = ${split_k};  // CTAs that share the depth of a tile: each makes a part of the sums
constexpr bool waits_for_launches = ${dependent_launch && pdl};
