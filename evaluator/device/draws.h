#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/number.h"
#include "engine/task/draw.h"
#include "engine/task/task.h"

namespace evo {

/// One dense array to be drawn. Element i depends on stream, sizes and i alone.
struct DrawRecipe {
  std::string name;  ///< For messages.
  DType dtype = DType::f32;
  std::uint64_t elements = 0;
  std::uint64_t row = 1;  ///< Elements of the last dimension.
  DrawKind kind = DrawKind::automatic;
  std::vector<Number> numbers;
  Distribution regime = Distribution::normal;  ///< Some change draws of integers.
  std::uint64_t stream = 0;                    ///< Key of its random numbers.
};

/// Whether a draw is of whole numbers in a range, whatever the dtype.
bool draws_integers(DrawKind kind, DType dtype);

/// Fills `to`, which has bytes_for(dtype, elements) bytes. `kind` is neither file nor unset, nor automatic for a
/// floating type. Throws usage_error for a number that the dtype does not hold.
void draw_elements(const DrawRecipe& recipe, std::byte* to);

}  // namespace evo
