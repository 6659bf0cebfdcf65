#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evo {

struct SequenceHash {
  std::size_t operator()(const std::vector<std::uint32_t>& sequence) const {
    std::uint64_t hash = sequence.size();
    for (const std::uint32_t id : sequence) hash = (hash ^ id) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

}  // namespace evo
