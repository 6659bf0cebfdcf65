#include "engine/base/comments.h"

namespace evo {

std::string without_comments(std::string_view line, bool& in_comment) {
  std::string code;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = line.substr(i);
    if (in_comment) {
      if (!rest.starts_with("*/")) continue;
      in_comment = false;
      ++i;
    } else if (rest.starts_with("//")) {
      break;
    } else if (rest.starts_with("/*")) {
      in_comment = true;
      ++i;
    } else {
      code += line[i];
    }
  }
  return code;
}

}  // namespace evo
