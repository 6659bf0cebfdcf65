#pragma once

#include <cstdint>
#include <random>

namespace evo {

/// The project's random numbers. std::mt19937_64 is the same everywhere; the standard's distributions are
/// not, so they are not used.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }

  /// Uniform in [0, bound); bound > 0. Unbiased (rejection).
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t drawn = next();
    while (drawn >= limit) drawn = next();
    return drawn % bound;
  }

  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace evo
