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
  /// Whether this load waits: it reads the same place again and again in a loop that ends by what it reads.
  bool polls(std::uint32_t code);

 private:
  bool polls_in(std::uint32_t code, std::uint32_t begin, std::uint32_t end) const;

  const Kernel* kernel_;
  std::vector<bool> read_;  ///< By register number.
  std::unordered_map<std::uint32_t, bool> polls_;
};

}  // namespace evo::vgpu
