#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/expression/value.h"

namespace evo {

/// One of the .cuh files here, which are written as kernel templates are (docs/templates.md, "Templates").
std::string rendered(std::string_view text, const Bindings& values);

/// "head(item, item, ...)tail", broken into lines of at most 110 columns.
std::string wrapped(std::string_view head, const std::vector<std::string>& items, std::string_view tail);

/// `text` made fit for one line comment: no control characters, no backslash at its end.
std::string comment_safe(std::string_view text);

}  // namespace evo
