#include "population/code/kernel_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "engine/base/text.h"
#include "engine/source/preprocessor_lines.h"

namespace evo {
namespace {

/// The macros that a source defines: they end with its namespace, so that the next specialisation may define
/// its own.
std::vector<std::string> macros_of(const std::string& source) {
  std::vector<std::string> macros;
  for (const std::string& line : split(source, '\n')) {
    const std::string_view rest = directive_text(line, "define");
    const auto end =
        std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_'; });
    const std::string name(rest.begin(), end);
    if (is_identifier(name) && std::find(macros.begin(), macros.end(), name) == macros.end()) macros.push_back(name);
  }
  return macros;
}

std::size_t position_in(const KernelBlock& block, const std::string& kernel) {
  return static_cast<std::size_t>(std::ranges::find(block.kernels, kernel) - block.kernels.begin());
}

/// Within a line: "#pragma unroll UNROLL", where UNROLL is a macro for a number, gets the number.
void expand_unroll(std::string& line, const std::map<std::string, std::string, std::less<>>& numbers) {
  constexpr std::string_view kUnroll = "unroll";
  const std::string_view pragma = directive_text(line, "pragma");
  if (!pragma.starts_with(kUnroll)) return;
  const std::string_view macro = trim(pragma.substr(kUnroll.size()));
  const auto number = numbers.find(macro);
  if (number == numbers.end()) return;
  line.replace(static_cast<std::size_t>(macro.data() - line.data()), macro.size(), number->second);
}

}  // namespace

std::string exported_source(const std::string& source) {
  std::map<std::string, std::string, std::less<>> numbers;
  std::vector<std::string> lines = split(source, '\n');
  for (std::string& line : lines) {
    const std::vector<std::string> define = split(std::string(directive_text(line, "define")), ' ');
    if (define.size() == 2 && define[1].find_first_not_of("0123456789") == std::string::npos && !define[1].empty())
      numbers[define[0]] = define[1];
    expand_unroll(line, numbers);
  }
  std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  return text.ends_with('\n') ? text : text + "\n";
}

std::string includes_of(const std::string& source) {
  std::string includes;
  for (const std::string& line : split(source, '\n')) {
    if (!directive_text(line, "include").empty()) includes += std::string(trim(line)) + "\n";
  }
  return includes;
}

std::string begin_marker(std::size_t index) {
  return fmt::format("// ==== evo kernel {} ====\n", index);
}
std::string end_marker(std::size_t index) {
  return fmt::format("// ==== end of evo kernel {} ====\n", index);
}

bool is_instance(const std::string& kernel) {
  return kernel.find('<') != std::string::npos;
}

std::string unqualified(const std::string& kernel) {
  return kernel.substr(kernel.rfind(':') + 1);
}

std::string symbol_of(const std::string& kernel, const KernelBlock& block) {
  if (is_instance(kernel)) return kernel;
  const std::string name = unqualified(kernel);
  const auto renamed = block.renamed.find(name);
  if (renamed == block.renamed.end()) return kernel;
  return kernel.substr(0, kernel.size() - name.size()) + renamed->second;
}

std::string address_of(const std::string& kernel, const KernelBlock& block) {
  if (is_instance(kernel)) return fmt::format("{}::evo_kernel_{}()", block.name_space, position_in(block, kernel));
  return fmt::format("(const void*)&{}::{}", block.name_space, symbol_of(kernel, block));
}

std::string kernel_block(const std::string& source, const std::string& marker, const KernelBlock& block) {
  std::string renames, addresses, ends;
  for (const std::string& kernel : block.kernels) {
    if (!is_instance(kernel)) continue;
    addresses += fmt::format("inline const void* evo_kernel_{}() {{ return (const void*)&{}; }}\n",
                             position_in(block, kernel), kernel);
  }
  for (const auto& [name, other] : block.renamed) {
    renames += fmt::format("#define {} {}\n", name, other);
    ends += fmt::format("#undef {}\n", name);
  }
  // What an instance's arguments name, macros too, is known here alone.
  if (!addresses.empty()) addresses = fmt::format("#ifndef __CUDACC_RTC__\n{}#endif\n", addresses);
  for (const std::string& macro : macros_of(source)) ends += fmt::format("#undef {}\n", macro);
  return fmt::format("namespace {} {{\n{}{}{}{}{}}}  // namespace {}\n", block.name_space, renames,
                     marker.empty() ? exported_source(source) : marker, addresses, ends.empty() ? "" : "\n", ends,
                     block.name_space);
}

}  // namespace evo
