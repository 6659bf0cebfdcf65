#pragma once

#include <span>
#include <string_view>

/// What a GPU can do beyond what every one does, by its compute capability. Families' expressions read these as facts.
/// Sources: PTX ISA 9.0, "Target ISA Notes" of each instruction; CUDA C++ Programming Guide 13.0, "Compute
/// Capabilities". `fp8_mma_widened`: what ptxas 13.0 makes of mma.sync of e4m3 for each architecture.
namespace evo {

struct Ability {
  std::string_view name;   ///< Of the fact.
  std::string_view about;  ///< For a table.
  bool (*at)(int sm);      ///< By compute capability times ten.
};

std::span<const Ability> abilities();

}  // namespace evo
