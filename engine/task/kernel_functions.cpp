#include "engine/task/kernel_functions.h"

#include <algorithm>

#include "engine/base/text.h"

namespace evo {
std::vector<std::string> kernel_functions(const std::string& source) {
  std::vector<std::string> names;
  for (std::size_t at = source.find("__global__"); at != std::string::npos; at = source.find("__global__", at + 1)) {
    // void, __launch_bounds__(256, 2), and then the name with its bracket.
    std::string word;
    int depth = 0;
    for (std::size_t i = at + 10; i < source.size() && source[i] != '{' && source[i] != ';'; ++i) {
      const char c = source[i];
      if (depth == 0 && is_identifier_character(c)) {
        if (i == 0 || !is_identifier_character(source[i - 1])) word.clear();
        word += c;
      } else if (c == '(' && depth++ == 0 && word != "__launch_bounds__") {
        if (std::ranges::find(names, word) == names.end()) names.push_back(word);
        break;
      } else if (c == ')') {
        --depth;
      }
    }
  }
  return names;
}

}  // namespace evo
