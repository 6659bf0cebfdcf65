#pragma once

#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"
#include "engine/source/line_map.h"

namespace evo {

/// Renders a kernel template (docs/templates.md): lines that start with //% are directives (if, elif, else,
/// for x in a..b, let, include, slot, probe, end), ${expr} is replaced. `for` runs over a..b inclusive of a,
/// exclusive of b. `include` takes a path under include/ or next to the including file and is rendered once
/// each time it is named; `slot NAME` includes the file of that gene's allele. CUDA's own `#include "PATH"` is
/// replaced by the file where the tree has it next to the including one, and heeds `#pragma once`. Output, loop
/// count, include depth and work are bounded. Throws usage_error "FILE:LINE: reason".
std::string render_template(const SourceTree& tree, std::string_view path, const Bindings& bindings);

/// Lines between `//% probe` and its `end` are rendered where this name has a value. No gene can have such a name.
inline constexpr const char* kProbing = "%probing";

/// A file without its probes: what is rendered, unless a diagnosis wants them.
std::string without_probes(std::string_view source);

struct Rendered {
  std::string text;
  LineMap lines;
};
/// The same, with the places that the lines come from.
Rendered render_with_lines(const SourceTree& tree, std::string_view path, const Bindings& bindings);

/// The file that a line `//% include "PATH"` or `#include "PATH"` of `file` means, whose path is returned as the tree
/// has it. Empty for other lines, and where there is no such file.
std::string included_file(const SourceTree& tree, std::string_view file, std::string_view line);
/// `file` and all that it may include, whatever the bindings. Slots are not followed.
std::set<std::string> files_included_by(const SourceTree& tree, const std::string& file);

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
