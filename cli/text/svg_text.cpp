#include "cli/text/svg_text.h"

#include <fmt/format.h>

namespace evo::cli {

std::string svg_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

std::string svg_document(double width, double height, std::string_view body) {
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' font-size='11'>\n"
      "<rect width='100%' height='100%' fill='white'/>\n{}</svg>\n",
      width, height, body);
}

}  // namespace evo::cli
