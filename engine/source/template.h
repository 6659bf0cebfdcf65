#pragma once

#include <set>
#include <string>
#include <string_view>

#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"
#include "engine/source/line_map.h"
#include "engine/source/text_template.h"

namespace evo {

/// Renders a kernel template (docs/templates.md): lines that start with //% are directives (if, elif, else,
/// for x in a..b, let, include, slot, probe, end), ${expr} is replaced. `for` runs over a..b inclusive of a,
/// exclusive of b. `include` takes a path next to the including file or in the templates folder and is rendered
/// each time it is named; `slot NAME` includes the file of that gene's allele. A file that says what it `takes` sees
/// `bindings` and what the include passes `with` it, and none of the including file's other names. CUDA's own
/// `#include "PATH"` is replaced by the file where the tree has it, and heeds `#pragma once`. Output, loop count,
/// include depth and work are bounded. Throws usage_error "FILE:LINE: reason".
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

}  // namespace evo
