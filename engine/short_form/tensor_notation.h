#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// "NAME=[in|out|inout|scratch] TYPE[DIMS] ATTRIBUTE(...) ... [:DRAW]", taken apart; what is left out is empty.
struct TensorNotation {
  std::string name;
  std::string direction = "in";
  std::string type;
  std::vector<std::string> dims;
  std::vector<std::string> strides;  ///< strides(M + 8, 1): one for each dim, in elements.
  std::string scale;                 ///< scale(s)
  std::string zero_point;            ///< zero_point(z), of inputs
  std::string when;                  ///< when(causal)
  std::string any_of_equal;          ///< any_of_equal(x), of outputs
  std::string draw;

  bool is_output() const { return direction == "out" || direction == "inout"; }
  bool is_scratch() const { return direction == "scratch"; }
};

/// Empty for what is no tensor: a scalar, a struct, a name. Throws usage_error without a place.
std::optional<TensorNotation> parse_tensor(std::string_view text);

}  // namespace evo
