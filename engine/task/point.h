#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evo {

/// A genome of one family as allele indices in the family's gene order.
using Path = std::vector<int>;
inline constexpr int kInactive = -1;  ///< In a path: the gene takes no part. In a wish: any allele.

/// A genome as a space's strategies handle it: the index of its family and its path. Equal genomes have equal
/// points.
struct Point {
  std::size_t family = 0;
  Path alleles;

  friend bool operator==(const Point&, const Point&) = default;
};

struct PointHash {
  std::size_t operator()(const Point& point) const {
    std::uint64_t hash = point.family + 1;
    for (const int allele : point.alleles) {
      hash = (hash ^ static_cast<std::uint64_t>(allele + 1)) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace evo
