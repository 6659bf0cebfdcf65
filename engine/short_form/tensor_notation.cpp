#include "engine/short_form/tensor_notation.h"

#include <fmt/format.h>

#include "engine/base/brackets.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/task/draw.h"

namespace evo {
namespace {

/// "y=out float" in front of the dims.
void read_head(std::string_view head, std::string_view whole, TensorNotation& tensor) {
  const auto equals = head.find('=');
  if (equals == std::string_view::npos)
    throw usage_error(fmt::format("'{}': a tensor has a name: \"x={}\"", whole, whole));
  tensor.name = trim(head.substr(0, equals));
  if (!is_identifier(tensor.name)) throw usage_error(fmt::format("'{}' is not a name", tensor.name));
  head = trim(head.substr(equals + 1));
  for (const std::string_view direction : {"inout", "in", "out", "scratch"}) {
    if (!head.starts_with(direction) || head.size() == direction.size() ||
        is_identifier_character(head[direction.size()]))
      continue;
    tensor.direction = direction;
    head = trim(head.substr(direction.size()));
    break;
  }
  tensor.type = head;
}

void set(TensorNotation& tensor, const std::string& attribute, std::string_view value) {
  static const std::vector<std::string> kAttributes = {"strides", "scale", "zero_point", "when", "any_of_equal"};
  if (value.empty()) throw usage_error(fmt::format("{}(): nothing is named", attribute));
  if (attribute == "strides") {
    for (const std::string_view stride : split_outside_brackets(value, ",")) tensor.strides.emplace_back(stride);
    if (tensor.strides.size() != tensor.dims.size())
      throw usage_error(fmt::format("strides({}): {} for {} dims", value, tensor.strides.size(), tensor.dims.size()));
    return;
  }
  if (attribute == "any_of_equal" && !tensor.is_output())
    throw usage_error(fmt::format("any_of_equal is of outputs: \"{}=out ...\"", tensor.name));
  if (attribute == "zero_point" && tensor.is_output()) throw usage_error("zero_point is of inputs");
  std::string* const text = attribute == "scale"          ? &tensor.scale
                            : attribute == "zero_point"   ? &tensor.zero_point
                            : attribute == "when"         ? &tensor.when
                            : attribute == "any_of_equal" ? &tensor.any_of_equal
                                                          : nullptr;
  if (text == nullptr)
    throw usage_error(fmt::format("a tensor has no '{}'{}", attribute, suggestion(attribute, kAttributes)));
  *text = value;
}

/// What follows the dims: "strides(K + 3, 1) when(causal) :uniform".
void read_tail(std::string_view rest, TensorNotation& tensor) {
  while (!rest.empty() && !rest.starts_with(':')) {
    const auto open = rest.find('(');
    const std::string_view attribute = trim(rest.substr(0, open));
    if (open == std::string_view::npos || !is_identifier(attribute))
      throw usage_error(
          fmt::format("'{}': expected ':' and a draw behind ']', or strides(...), scale(...), zero_point(...), "
                      "when(...), any_of_equal(...)",
                      rest));
    const std::size_t close = closing_bracket(rest, open);
    if (close == std::string_view::npos)
      throw usage_error(fmt::format("'{}': a bracket is not closed", rest.substr(open)));
    set(tensor, std::string(attribute), trim(rest.substr(open + 1, close - open - 1)));
    rest = trim(rest.substr(close + 1));
  }
  if (rest.empty()) return;
  tensor.draw = trim(rest.substr(1));
  if (tensor.draw.empty()) throw usage_error(fmt::format("no draw behind ':'; there are {}", draw_names()));
}

}  // namespace

std::optional<TensorNotation> parse_tensor(std::string_view text) {
  text = trim(text);
  const auto bracket = text.find('[');
  if (text.starts_with('{') || bracket == std::string_view::npos || bracket > text.find(':')) return std::nullopt;
  TensorNotation tensor;
  read_head(trim(text.substr(0, bracket)), text, tensor);
  const auto close = text.find(']', bracket);
  if (close == std::string_view::npos) throw usage_error(fmt::format("'{}': '[' without ']'", text));
  for (const std::string_view dim : split_outside_brackets(text.substr(bracket + 1, close - bracket - 1), ",")) {
    if (dim.empty()) throw usage_error(fmt::format("'{}': how many elements? \"x=float[N]\"", text));
    tensor.dims.emplace_back(dim);
  }
  read_tail(trim(text.substr(close + 1)), tensor);
  return tensor;
}

}  // namespace evo
