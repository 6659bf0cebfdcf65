#pragma once

#include <cstddef>

#include "evaluator/device/device.h"
#include "evaluator/device/input_recipe.h"

namespace evo {

/// Draws inputs where they are wanted, bit for bit those of generate_inputs (inputs.h).
class InputDrawer {
 public:
  virtual ~InputDrawer() = default;
  /// Whether it can draw that input.
  virtual bool draws(const CaseRecipe& recipe, std::size_t input) const = 0;
  /// False: what it drew are not the host's numbers, and it draws nothing more.
  virtual bool draw(const CaseRecipe& recipe, std::size_t input, DeviceAddress to) = 0;
};

}  // namespace evo
