#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// What an element is: a whole number of a range; first + i * count; begin + i * width; one from begin up to begin +
/// width; N(begin, width^2); its magnitude; bits.
enum class ElementKind { whole, progression, line, uniform, normal, magnitude, bits };
/// Whose random numbers an element has: its own, the first one's, those of its row's first one, those of one of `ties`.
/// Of whole numbers: its own, those of one of `ties`; or it is an end of the range.
enum class ElementSource { own, first, row, tied, ends };

/// A draw whose elements depend on nothing but their numbers (element_draws.cuh). draw_kernels.cu has the same members.
struct ElementDraw {
  std::uint64_t elements = 0, row = 1, stream = 0;
  std::uint64_t first = 0, count = 1;  ///< Whole numbers first, first + 1, ...: `count` of them (0: 2^64).
  std::uint64_t ties = 4;
  std::uint64_t most_zeros = 0;  ///< Of a wide range in the regime `ties`: more trailing zeros than numbers get.
  double begin = 0, width = 1;
  int powers = 0;           ///< Whether numbers become powers of two.
  int least = 0, most = 0;  ///< Their exponents, of the kind `uniform`.
  ElementKind kind = ElementKind::whole;
  ElementSource source = ElementSource::own;
  DType dtype = DType::f32;
};

/// Empty for an array that is drawn as a whole (sorted rows, permutations, offsets, tables of pages), for given
/// numbers, and where the dtype may not hold a number.
std::optional<ElementDraw> element_draw(const DrawRecipe& recipe);
/// Elements `from` to `until`; the first becomes element 0 of `to`. `from` is a multiple of 16.
void draw_elements(const ElementDraw& draw, std::uint64_t from, std::uint64_t until, std::byte* to);

/// Fills `to`, which has bytes_for(dtype, elements) bytes. `kind` is neither file nor unset, nor automatic for a
/// floating type. Throws usage_error for a number that the dtype does not hold.
void draw_elements(const DrawRecipe& recipe, std::byte* to);

}  // namespace evo
