#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A case of a conformance check. tests/gpu/record_conformance.cpp runs it on a GPU, and the tests of the virtual GPU
/// run the same PTX on the same inputs. Inputs follow from seeds, therefore only outputs are recorded.
namespace evo::conformance {

/// One launch of the kernel `k(.param .u64 in, .param .u64 out)` with a one-dimensional grid.
struct Case {
  std::string name;
  std::string ptx;
  std::uint32_t blocks = 1;
  std::uint32_t threads = 128;
  std::uint32_t cluster = 1;  ///< Blocks of a cluster, as in the PTX.
  std::vector<std::uint32_t> in;
  std::size_t out_words = 0;
};

/// SplitMix64.
struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(next() >> 32); }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool coin() { return below(2) != 0; }
};

/// FNV-1a of a name: a seed that does not depend on the library.
inline std::uint64_t seed_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace evo::conformance
