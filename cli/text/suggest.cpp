#include "cli/text/suggest.h"

#include <fmt/format.h>

#include "engine/base/text.h"

namespace evo::cli {

Error unknown_name(std::string_view what, std::string_view typed, const std::vector<std::string>& names,
                   std::string_view where) {
  std::string message = fmt::format("unknown {} '{}'", what, typed);
  if (!where.empty()) message += fmt::format(" {}", where);
  if (names.empty()) return usage_error(message + " (there are none)");
  const std::string hint = suggestion(typed, names);
  message += hint;
  // The guess may be wrong, so the whole list follows.
  if (hint.find("did you mean") != std::string::npos) message += fmt::format(" (there are {})", list_of(names));
  return usage_error(message);
}

}  // namespace evo::cli
