#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/expression/expression.h"

namespace evo {

/// A line with ${expression}s, such as a kernel's name in family.json: "reduce<${tile}>".
class TextTemplate {
 public:
  using Piece = std::variant<std::string, Expression>;
  TextTemplate() = default;
  /// Throws usage_error without a place.
  static TextTemplate parse(std::string_view line);
  /// Throws usage_error without a place, as Expression::evaluate does.
  std::string render(const Bindings& bindings) const;
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

}  // namespace evo
