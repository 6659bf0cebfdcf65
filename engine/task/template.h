#pragma once

#include <string>
#include <string_view>

#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"

namespace evo {

/// Renders a kernel template (docs/templates.md): lines that start with //% are directives (if, elif, else,
/// for x in a..b, let, include, slot, end), ${expr} is replaced. `for` runs over a..b inclusive of a,
/// exclusive of b. `include` takes a path under include/ or next to the including file and is rendered once
/// each time it is named; `slot NAME` includes the file of that gene's allele. Output, loop count, include
/// depth and work are bounded. Throws usage_error "FILE:LINE: reason".
std::string render_template(const SourceTree& tree, std::string_view path, const Bindings& bindings);

}  // namespace evo
