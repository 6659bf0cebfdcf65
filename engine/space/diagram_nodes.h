#pragma once

#include <cstdint>
#include <vector>

/// What a decision diagram (diagram.h) is made of.
namespace evo::diagram {

using NodeId = std::uint32_t;

constexpr NodeId kDead = 0;
constexpr NodeId kEnd = 1;

struct Node {
  std::uint32_t first_edge = 0;  ///< One edge for each allele; a single one when the gene is inactive.
  std::uint32_t edges = 0;
  bool active = true;
  std::uint64_t count = 0;  ///< Genomes below, saturated at 2^63.
  double weight = 0;        ///< The same, approximately.
};

}  // namespace evo::diagram
