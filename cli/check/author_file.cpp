#include "cli/check/author_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace evo::cli {
namespace {

bool names_file(std::string_view reason) {
  constexpr std::array<std::string_view, 3> kEndings = {".cu:", ".cuh:", ".json:"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return reason.find(ending) != reason.npos; });
}

/// What a device refuses before it runs a kernel. Of illegal candidates these are named with the shape; the others are
/// refused for their code.
bool is_of_launch(Verdict verdict, std::string_view reason) {
  return verdict == Verdict::launch_failed || (verdict == Verdict::illegal && reason.starts_with("shape "));
}

}  // namespace

std::string with_file(Verdict verdict, const std::string& reason, const std::string& task, const std::string& family) {
  if (verdict == Verdict::harness_failed || names_file(reason)) return reason;
  return fmt::format("{}/{}/{}: {}", task, family, is_of_launch(verdict, reason) ? "family.json" : "kernel.cu", reason);
}

}  // namespace evo::cli
