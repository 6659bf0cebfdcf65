#include "evaluator/compile/ptxas_log.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

PtxasUsage parse_ptxas_usage(std::string_view log) {
  PtxasUsage usage;
  for_each_line(log, [&](std::string_view line) {
    if (contains(line, "Compiling entry function")) ++usage.entries;
    // "N bytes stack frame, N bytes spill stores, N bytes spill loads": one line for each function.
    usage.stack_bytes = std::max(usage.stack_bytes, number_before(line, " bytes stack frame"));
    usage.spill_bytes = std::max(
        usage.spill_bytes, number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads"));
    // "Used N registers, used N barriers, N bytes cumulative stack size, N bytes smem": entry functions only.
    if (contains(line, "Used ")) {
      usage.registers = std::max(usage.registers, number_before(line, " registers"));
      usage.static_smem_bytes = std::max(usage.static_smem_bytes, number_before(line, " bytes smem"));
      usage.stack_bytes = std::max(usage.stack_bytes, number_before(line, " bytes cumulative stack size"));
    }
    return true;
  });
  return usage;
}

std::vector<KernelResources> kernel_resources(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<KernelResources> found;
  for_each_line(log, [&](std::string_view line) {
    if (const std::size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + kEntry.size());
      found.push_back({std::string(name.substr(0, name.find('\''))), 0, 0});
    } else if (!found.empty() && contains(line, "Used ")) {
      found.back().registers = number_before(line, " registers");
      found.back().static_smem_bytes = number_before(line, " bytes smem");
    }
    return true;
  });
  return found;
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
  for (const KernelResources& kernel : kernel_resources(log))
    if (kernel.static_smem_bytes > kSmemPerBlockBytes)
      return fmt::format(
          "kernel {} has {} bytes of static shared memory, {} are possible: what is larger must be "
          "dynamic (extern __shared__)",
          kernel.kernel, kernel.static_smem_bytes, kSmemPerBlockBytes);
  return first.empty() ? "the compiler's log is empty" : std::string(first);
}

std::optional<std::string> performance_warning(std::string_view log) {
  std::optional<std::string> found;
  for_each_line(log, [&](std::string_view line) {
    if (contains(line, "Potential Performance Loss")) found = std::string(trim(line));
    return !found;
  });
  return found;
}

}  // namespace evo
