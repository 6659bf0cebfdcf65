#include "population/export/kernel_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "engine/base/text.h"

namespace evo {
namespace {

/// What follows a first word; empty where another one is first.
std::string_view behind(std::string_view text, std::string_view word) {
  return text.starts_with(word) ? trim(text.substr(word.size())) : std::string_view();
}

std::string_view directive_of(std::string_view line, std::string_view name) {
  line = trim(line);
  return line.starts_with('#') ? behind(trim(line.substr(1)), name) : std::string_view();
}

/// The macros that a source defines: they end with its namespace, so that the next specialisation may define
/// its own.
std::vector<std::string> macros_of(const std::string& source) {
  std::vector<std::string> macros;
  for (const std::string& line : split(source, '\n')) {
    const std::string_view rest = directive_of(line, "define");
    const auto end =
        std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_'; });
    const std::string name(rest.begin(), end);
    if (is_identifier(name) && std::find(macros.begin(), macros.end(), name) == macros.end()) macros.push_back(name);
  }
  return macros;
}

/// Headers are included before the namespace opens; their guards then make the includes within it empty.
std::string includes_of(const std::string& source) {
  std::string includes;
  for (const std::string& line : split(source, '\n')) {
    if (!directive_of(line, "include").empty()) includes += std::string(trim(line)) + "\n";
  }
  return includes;
}

/// Within a line: "#pragma unroll UNROLL", where UNROLL is a macro for a number, gets the number.
void expand_unroll(std::string& line, const std::map<std::string, std::string, std::less<>>& numbers) {
  const std::string_view macro = behind(directive_of(line, "pragma"), "unroll");
  const auto number = numbers.find(macro);
  if (number == numbers.end()) return;
  line.replace(static_cast<std::size_t>(macro.data() - line.data()), macro.size(), number->second);
}

}  // namespace

std::string exported_source(const std::string& source) {
  std::map<std::string, std::string, std::less<>> numbers;
  std::vector<std::string> lines = split(source, '\n');
  for (std::string& line : lines) {
    const std::vector<std::string> define = split(std::string(directive_of(line, "define")), ' ');
    if (define.size() == 2 && define[1].find_first_not_of("0123456789") == std::string::npos && !define[1].empty())
      numbers[define[0]] = define[1];
    expand_unroll(line, numbers);
  }
  std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  return text.ends_with('\n') ? text : text + "\n";
}

std::string begin_marker(std::size_t index) {
  return fmt::format("// ==== evo kernel {} ====\n", index);
}
std::string end_marker(std::size_t index) {
  return fmt::format("// ==== end of evo kernel {} ====\n", index);
}

std::string kernel_block(const std::string& source, const std::string& marker, const std::string& name_space,
                         const std::vector<std::string>& kernels, const std::string& suffix) {
  std::string renames, ends;
  for (const std::string& kernel : kernels) {
    if (suffix.empty()) continue;
    renames += fmt::format("#define {0} {0}_{1}\n", kernel, suffix);
    ends += fmt::format("#undef {}\n", kernel);
  }
  for (const std::string& macro : macros_of(source)) ends += fmt::format("#undef {}\n", macro);
  return fmt::format("{}namespace {} {{\n{}{}{}{}}}  // namespace {}\n", includes_of(source), name_space, renames,
                     marker.empty() ? exported_source(source) : marker, ends.empty() ? "" : "\n", ends, name_space);
}

}  // namespace evo
