#include "engine/choices/kernel_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "engine/base/brackets.h"

namespace evo {

std::optional<KernelPlace> find_kernel(const std::string& code, const std::string& name) {
  const std::regex pattern(fmt::format(R"(\bvoid\s[\w\s(),.]*?\b{}\s*\()", name));
  for (std::sregex_iterator at(code.begin(), code.end(), pattern), end; at != end; ++at) {
    const auto void_type = static_cast<std::size_t>(at->position());
    const auto global = code.rfind("__global__", void_type);
    const auto ended = code.find_last_of(";}", void_type);
    if (global == std::string::npos || (ended != std::string::npos && ended > global)) continue;
    const std::size_t open = static_cast<std::size_t>(at->position() + at->length()) - 1;
    const std::size_t close = closing_bracket(code, open);
    const std::size_t body = close == std::string::npos ? close : code.find_first_not_of(" \t\r\n", close + 1);
    if (body == std::string::npos || code[body] != '{') continue;  // A declaration.
    return KernelPlace{global, void_type, open, close, body, std::min(closing_bracket(code, body), code.size())};
  }
  return std::nullopt;
}

}  // namespace evo
