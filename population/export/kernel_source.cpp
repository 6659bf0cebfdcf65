#include "population/export/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/text.h"

namespace evo {
namespace {

std::string_view directive_of(std::string_view line, std::string_view name) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  line = trim(line.substr(1));
  if (!line.starts_with(name)) return {};
  return trim(line.substr(name.size()));
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

}  // namespace

std::string exported_source(const std::string& source) {
  return source.ends_with('\n') ? source : source + "\n";
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
