#pragma once

#include <string>

namespace evo::cli {

/// Text as it stands in an SVG document.
std::string svg_text(const std::string& text);

}  // namespace evo::cli
