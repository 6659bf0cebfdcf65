#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "evaluator/vgpu/machine/kernel.h"

namespace evo::vgpu {

/// What a kernel's code does with the values that its instructions bring: whether a strong access serves to order
/// threads or only to move a value.
class ValueUses {
 public:
  explicit ValueUses(const Kernel& kernel);

  /// Whether any instruction reads what this one writes. An atomic whose result is used has seen those before it.
  bool is_used(std::uint32_t code) const;
  enum class Look : std::uint8_t {
    once,
    again,  ///< It lies in a loop.
    waits,  ///< It reads the same places again and again in a loop that ends by what it reads.
  };
  Look look_of(std::uint32_t load);

 private:
  bool waits_in(std::uint32_t load, std::uint32_t begin, std::uint32_t end) const;
  bool walks_in(std::uint32_t load, std::uint32_t begin, std::uint32_t end) const;

  const Kernel* kernel_;
  std::vector<bool> read_;  ///< By register number.
  std::unordered_map<std::uint32_t, Look> looks_;
};

}  // namespace evo::vgpu
