#include "engine/base/json_depth.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace evo {
namespace {

/// The closing quote of the string that opens here; the text's end where there is none.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at;
}

}  // namespace

void require_shallow_json(std::string_view text, std::string_view what) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') at = end_of_string(text, at);
    if (c == ']' || c == '}') --depth;
    if (c != '[' && c != '{') continue;
    if (++depth > kMaxJsonDepth)
      throw usage_error(fmt::format("{}: nested deeper than {} levels", what, kMaxJsonDepth));
  }
}

}  // namespace evo
