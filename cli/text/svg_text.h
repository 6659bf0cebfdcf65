#pragma once

#include <string>

namespace evo::cli {

/// The text with the characters escaped that SVG reserves.
std::string svg_text(const std::string& text);

}  // namespace evo::cli
