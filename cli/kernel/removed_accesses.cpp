#include "cli/kernel/removed_accesses.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/text.h"

namespace evo::cli {
namespace {

/// A line of PTX, cut into words: "add.s64", "%rd1", "%SP", "16".
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (c == '/') break;
    if (std::string_view(" \t,;[](){}").find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(word);
  if (!words.empty() && words[0].starts_with('@')) words.erase(words.begin());
  return words;
}

/// Follows addresses of memory that others may see through a function.
class Function {
 public:
  explicit Function(bool is_kernel) : is_kernel_(is_kernel) {}

  /// Whether the instruction accesses such memory.
  bool accesses(const std::vector<std::string>& words) {
    const std::string& opcode = words[0];
    if (words.size() < 3) return false;
    const auto has = [&](std::string_view part) { return opcode.find(part) != std::string::npos; };
    const bool loads = opcode.starts_with("ld.") || opcode.starts_with("atom.");
    if (loads || opcode.starts_with("st.") || opcode.starts_with("red.")) {
      if (has(".param") && loads && is_kernel_) outside_.insert(words[1]);
      const std::string_view place = words[loads ? place_of_load(words) : 1];
      return has(".shared") || has(".global") || (!has(".param") && !has(".local") && leads_outside(place));
    }
    const bool any = std::any_of(words.begin() + 2, words.end(), [&](const auto& one) { return leads_outside(one); });
    if (any && words[1].starts_with('%')) outside_.insert(words[1]);
    return false;
  }

 private:
  /// Behind the registers that are loaded: "ld.v2.f32 {%f1, %f2}, [%rd1+8]".
  static std::size_t place_of_load(const std::vector<std::string>& words) {
    const std::size_t registers = words[0].find(".v4") != words[0].npos   ? 4
                                  : words[0].find(".v2") != words[0].npos ? 2
                                                                          : 1;
    return std::min(1 + registers, words.size() - 1);
  }
  bool leads_outside(std::string_view place) const {
    const std::string name(place.substr(0, place.find('+')));
    // A variable by its name; numbers and special registers are none.
    const bool named =
        name.starts_with('_') || (!name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0);
    return named ? !name.starts_with("__local_depot") : outside_.contains(name);
  }

  bool is_kernel_;
  std::set<std::string, std::less<>> outside_;  ///< Registers.
};

/// The number that .loc has for the file.
std::optional<std::string> number_of(std::string_view ptx, std::string_view file) {
  for (const std::string& line : split(ptx, '\n')) {
    const std::vector<std::string> words = words_of(line.substr(0, line.find('"')));
    const std::string_view name = std::string_view(line).substr(0, line.rfind('"'));
    if (words.size() == 2 && words[0] == ".file" && name.ends_with(file)) return words[1];
  }
  return std::nullopt;
}

}  // namespace

std::set<std::uint32_t> lines_with_accesses(std::string_view ptx, std::string_view file) {
  std::set<std::uint32_t> lines;
  const std::optional<std::string> number = number_of(ptx, file);
  Function function(false);
  std::uint32_t here = 0;
  for (const std::string& line : split(ptx, '\n')) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    const bool entry = std::ranges::find(words, ".entry") != words.end();
    if (entry || std::ranges::find(words, ".func") != words.end()) function = Function(entry);
    if (words[0] == ".loc" && words.size() > 2)
      here = words[1] == number ? number_in<std::uint32_t>(words[2]).value_or(0) : 0;
    if (function.accesses(words) && here != 0) lines.insert(here);
  }
  return lines;
}

}  // namespace evo::cli
