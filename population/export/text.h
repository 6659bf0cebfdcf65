#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evo {

/// `text` with every @NAME@ replaced.
std::string filled(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& values);

/// "head(item, item, ...)tail", broken into lines of at most 110 columns.
std::string wrapped(std::string_view head, const std::vector<std::string>& items, std::string_view tail);

/// `text` made fit for one line comment: no control characters, no backslash at its end.
std::string comment_safe(std::string_view text);

}  // namespace evo
