#include "engine/base/brackets.h"

namespace evo {

std::size_t closing_bracket(std::string_view code, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < code.size(); ++at) {
    if (std::string_view("([{").find(code[at]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(code[at]) != std::string_view::npos && --depth == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace evo
