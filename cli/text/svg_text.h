#pragma once

#include <string>
#include <string_view>

namespace evo::cli {

/// The text with the characters escaped that SVG reserves.
std::string svg_text(const std::string& text);

/// A document of this size in pixels, white behind what `body` draws.
std::string svg_document(double width, double height, std::string_view body);

}  // namespace evo::cli
