#include "evaluator/compile/ptxas_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/text.h"
#include "engine/device/launch_rules.h"

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

/// What a log says of a kernel and, behind it, of the functions that the kernel calls and that were not inlined. ptxas
/// compiles such a function once for each kernel, and not alike.
struct LoggedKernel {
  std::string name;
  KernelBuild takes;
  std::map<std::string, KernelBuild> functions = {};
};

struct LoggedUsage {
  std::vector<LoggedKernel> kernels;
  std::vector<std::string> warnings;  ///< That performance is lost.
};

LoggedUsage logged_usage(std::string_view log) {
  LoggedUsage usage;
  KernelBuild* described = nullptr;
  for_each_line(log, [&](std::string_view line) {
    constexpr std::string_view kProperties = "Function properties for ";
    if (contains(line, "Potential Performance Loss")) usage.warnings.emplace_back(trim(line));
    if (const std::string_view name = quoted_behind(line, "Compiling entry function '"); !name.empty()) {
      usage.kernels.push_back({std::string(name), {}});
      described = nullptr;
    } else if (usage.kernels.empty()) {
      return true;
    } else if (const std::size_t at = line.find(kProperties); at != std::string_view::npos) {
      LoggedKernel& kernel = usage.kernels.back();
      const std::string name(trim(line.substr(at + kProperties.size())));
      described = name == kernel.name ? &kernel.takes : &kernel.functions[name];
    } else if (described != nullptr && contains(line, " bytes stack frame")) {
      // "N bytes stack frame, N bytes spill stores, N bytes spill loads"
      described->stack_bytes = std::max(described->stack_bytes, number_before(line, " bytes stack frame"));
      described->spill_bytes = number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    } else if (contains(line, "Used ")) {
      // "Used N registers, used N barriers, N bytes cumulative stack size, N bytes smem"
      KernelBuild& takes = usage.kernels.back().takes;
      takes.registers = number_before(line, " registers");
      takes.static_smem_bytes = number_before(line, " bytes smem");
      takes.stack_bytes = std::max(takes.stack_bytes, number_before(line, " bytes cumulative stack size"));
    }
    return true;
  });
  return usage;
}

/// Whether a warning is of a kernel: it names the kernel, one of its functions, or nothing in the log.
bool is_warned(const std::string& warning, const LoggedKernel& kernel, const LoggedUsage& usage) {
  const std::string named(quoted_behind(warning, "in the function '"));
  const auto has = [&](const LoggedKernel& one) { return one.name == named || one.functions.contains(named); };
  return has(kernel) || std::ranges::none_of(usage.kernels, has);
}

}  // namespace

std::map<std::string, KernelBuild> kernel_builds(std::string_view log) {
  const LoggedUsage usage = logged_usage(log);
  std::map<std::string, KernelBuild> builds;
  for (const LoggedKernel& kernel : usage.kernels) {
    KernelBuild& build = builds[kernel.name] = kernel.takes;
    for (const auto& [name, function] : kernel.functions) {
      build.spill_bytes += function.spill_bytes;
      build.stack_bytes = std::max(build.stack_bytes, function.stack_bytes);
    }
    const auto warning =
        std::ranges::find_if(usage.warnings, [&](const std::string& one) { return is_warned(one, kernel, usage); });
    if (warning != usage.warnings.end()) build.warning = *warning;
  }
  return builds;
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
  for (const auto& [name, kernel] : kernel_builds(log))
    if (kernel.static_smem_bytes > kSmemPerBlockBytes)
      return fmt::format(
          "kernel {} has {} bytes of static shared memory, {} are possible: what is larger must be "
          "dynamic (extern __shared__)",
          name, kernel.static_smem_bytes, kSmemPerBlockBytes);
  return first.empty() ? "the compiler's log is empty" : std::string(first);
}

}  // namespace evo
