#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>

namespace evo {

/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four random
/// words for each 128-bit counter under a 64-bit key. Element i of a tensor can be drawn without its predecessors.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter);

/// The normal quantile of (word + 1/2) / 2^32: at most 6.34 in magnitude. Algorithm AS 241 (Wichura 1988), accurate to
/// about 1e-15; its logarithm is our own, because the C library's differs between machines in the last bit.
double normal_from_word(std::uint32_t word);

/// A number that no seed determines, from the system.
inline std::uint64_t fresh_salt() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source();
}

/// Mixes a number or a name into a key (the finaliser of SplitMix64 after each step).
std::uint64_t mix(std::uint64_t key, std::uint64_t with);
std::uint64_t mix(std::uint64_t key, std::string_view with);

}  // namespace evo
