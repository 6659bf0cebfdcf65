#include "evaluator/compile/ptxas_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/text.h"
#include "engine/device/launch_rules.h"
#include "evaluator/compile/ptx_text.h"

namespace evo {
namespace {

/// Calls `visit(line)` for each line until it returns false.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!visit(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The number that stands right before `unit`: "16 bytes smem" with " bytes smem" is 16. Zero when it is not
/// there.
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return number_in<int>(line.substr(begin, end - begin)).value_or(0);
}

bool is_error(std::string_view line) {
  // The front end writes "error:", ptxas "error   :" and "fatal   :".
  return contains(line, "error:") || contains(line, "error   :") || contains(line, "fatal   :") ||
         contains(line, "catastrophic error");
}

/// What stands between `open` and the next quote; empty where `open` does not.
std::string_view quoted_behind(std::string_view line, std::string_view open) {
  const std::size_t at = line.find(open);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + open.size());
  return line.substr(0, line.find('\''));
}

/// What a log says of kernels and of functions that were not inlined.
struct LoggedUsage {
  std::map<std::string, KernelBuild> kernels, functions;
  std::string warning;  ///< The first that names no kernel.
};

/// "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... in the
/// function 'k'": such as a serialised wgmma or an ignored setmaxnreg (C7508 to C7516).
void note_warning(LoggedUsage& usage, std::string_view line) {
  const std::string_view named = quoted_behind(line, "in the function '");
  const auto kernel = usage.kernels.find(std::string(named));
  std::string& warning = kernel == usage.kernels.end() ? usage.warning : kernel->second.warning;
  if (warning.empty()) warning = trim(line);
}

LoggedUsage logged_usage(std::string_view log) {
  LoggedUsage usage;
  std::vector<std::string_view> warnings;
  KernelBuild* kernel = nullptr;  // the last that was begun
  KernelBuild* described = nullptr;
  for_each_line(log, [&](std::string_view line) {
    constexpr std::string_view kProperties = "Function properties for ";
    if (const std::string_view name = quoted_behind(line, "Compiling entry function '"); !name.empty()) {
      kernel = described = &usage.kernels[std::string(name)];
    } else if (const std::size_t at = line.find(kProperties); at != std::string_view::npos) {
      const std::string name(trim(line.substr(at + kProperties.size())));
      const auto known = usage.kernels.find(name);
      described = known == usage.kernels.end() ? &usage.functions[name] : &known->second;
    } else if (described != nullptr && contains(line, " bytes stack frame")) {
      // "N bytes stack frame, N bytes spill stores, N bytes spill loads"
      described->stack_bytes = std::max(described->stack_bytes, number_before(line, " bytes stack frame"));
      described->spill_bytes = number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    } else if (kernel != nullptr && contains(line, "Used ")) {
      // "Used N registers, used N barriers, N bytes cumulative stack size, N bytes smem"
      kernel->registers = number_before(line, " registers");
      kernel->static_smem_bytes = number_before(line, " bytes smem");
      kernel->stack_bytes = std::max(kernel->stack_bytes, number_before(line, " bytes cumulative stack size"));
    }
    if (contains(line, "Potential Performance Loss")) warnings.push_back(line);
    return true;
  });
  for (const std::string_view line : warnings) note_warning(usage, line);
  return usage;
}

}  // namespace

std::map<std::string, KernelBuild> kernel_builds(std::string_view log, std::string_view ptx) {
  LoggedUsage usage = logged_usage(log);
  for (auto& [name, kernel] : usage.kernels)
    if (kernel.warning.empty()) kernel.warning = usage.warning;
  if (usage.functions.empty()) return std::move(usage.kernels);
  const auto called = ptx_text::functions_of_kernels(ptx);
  for (auto& [name, kernel] : usage.kernels) {
    const auto calls = called.find(name);
    for (const auto& [function, takes] : usage.functions) {
      if (calls == called.end() || !calls->second.contains(function)) continue;
      kernel.spill_bytes += takes.spill_bytes;
      kernel.stack_bytes = std::max(kernel.stack_bytes, takes.stack_bytes);
    }
  }
  return std::move(usage.kernels);
}

std::string repeatable_log(std::string_view log) {
  std::string kept;
  for_each_line(log, [&](std::string_view line) {
    if (!contains(line, "Compile time =")) kept.append(line).append("\n");
    return true;
  });
  while (kept.ends_with("\n\n")) kept.pop_back();
  return kept == "\n" ? "" : kept;
}

std::string first_error(std::string_view log) {
  std::string_view first, error;
  for_each_line(log, [&](std::string_view line) {
    if (first.empty()) first = trim(line);
    if (is_error(line)) error = trim(line);
    return error.empty();
  });
  if (!error.empty()) return std::string(error);
  // The ptxas in NVRTC refuses too much shared memory without a word.
  for (const auto& [name, kernel] : logged_usage(log).kernels)
    if (kernel.static_smem_bytes > kSmemPerBlockBytes)
      return fmt::format(
          "kernel {} has {} bytes of static shared memory, {} are possible: what is larger must be "
          "dynamic (extern __shared__)",
          name, kernel.static_smem_bytes, kSmemPerBlockBytes);
  return first.empty() ? "the compiler's log is empty" : std::string(first);
}

}  // namespace evo
