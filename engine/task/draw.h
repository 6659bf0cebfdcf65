#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/number.h"
#include "engine/expression/expression.h"

namespace evo {

/// How the elements of a tensor are drawn, whatever its dtype. n: the tensor's elements.
enum class DrawKind {
  automatic,     ///< Floats by the regime's distribution; integers cover their whole type.
  unset,         ///< Never written: only for buffers of `evo vgpu`.
  constant,      ///< numbers[0], or 0.
  list,          ///< The numbers, then zeros.
  iota,          ///< numbers[0] + i * numbers[1].
  uniform,       ///< From numbers[0] up to, without it, numbers[1]. Integers are rounded down.
  normal,        ///< Mean numbers[0], standard deviation numbers[1].
  non_negative,  ///< |N(0, 1)|; integers from 0 to the largest.
  integers,      ///< Whole numbers from numbers[0] to numbers[1].
  indices,       ///< Whole numbers from 0 to numbers[0] - 1.
  permutation,   ///< Each row (last dimension) holds 0 ... row - 1 in random order.
  shuffle,       ///< 0 ... n - 1 in random order.
  offsets,       ///< Begins with 0, does not fall, ends with numbers[0]; some neighbours are equal (empty segments).
  page_table,    ///< Pages 0 ... numbers[0] - 1 in random order; each comes again only when all are used.
  bits,          ///< Every bit random.
  file,          ///< The content of `path`: .npy, or the bytes themselves.
};

/// A draw as a task or the command line writes it.
struct Draw {
  DrawKind kind = DrawKind::automatic;
  std::vector<Expression> numbers;
  std::string path;
};

/// Parses "normal", "integers(0, 15)", "indices(V)", "0.5", "{1,2,3}", "@table.npy". `floating`: what uniform means
/// without numbers: 0 to 1, or 0 to 100. Throws usage_error for an unknown name or a wrong number of arguments.
Draw parse_draw(std::string_view text, bool floating);

/// The values of the numbers.
std::vector<Number> evaluate(const Draw& draw, const Bindings& known);

/// "zeros, ones, ...": what parse_draw takes, for messages.
std::string draw_names();

}  // namespace evo
