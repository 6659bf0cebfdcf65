// How templates are written: choices are device code (if constexpr, overloads) wherever they can be, so that a template
// reads as the algorithm, and directives are left for what device code cannot say.

#include <fmt/format.h>

#include <cstddef>
#include <regex>

#include "engine/base/text.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

constexpr double kMostDirectives = 0.15;

/// Lines that start with `//%` after blanks, against all lines that are not blank.
double share_of_directives(const std::string& source) {
  std::size_t lines = 0, directives = 0;
  for (const std::string& line : split(source, '\n')) {
    const std::string_view text = trim(line);
    lines += text.empty() ? 0 : 1;
    directives += text.starts_with("//%") ? 1 : 0;
  }
  return lines == 0 ? 0.0 : static_cast<double>(directives) / static_cast<double>(lines);
}

bool is_device_code(const std::string& path) {
  return path.ends_with(".cu") || path.ends_with(".cuh");
}

}  // namespace

TEST_CASE("directives are at most 15 % of the lines of a template") {
  int checked = 0;
  for (const auto& [path, source] : shipped_templates()) {
    if (!is_device_code(path)) continue;
    ++checked;
    INFO(fmt::format("{}: {:.1f} % directives", path, 100 * share_of_directives(source)));
    CHECK(share_of_directives(source) <= kMostDirectives);
  }
  CHECK(checked > 100);
}

// An export of several kernels puts each into a namespace of its own.
TEST_CASE("device code of a template names nothing of the global scope") {
  const std::regex of_global_scope(R"((^|[^\w>:])::[A-Za-z_])");
  for (const auto& [path, source] : shipped_templates()) {
    if (!is_device_code(path)) continue;
    for (const std::string& line : split(source, '\n')) {
      INFO(path << ": " << line);
      CHECK_FALSE(std::regex_search(line, of_global_scope));
    }
  }
}

namespace {

/// What a template says of an architecture instead of asking for what the GPU can do; empty: nothing.
std::string named_architecture(const std::string& line) {
  static const std::regex kNamed(R"(\bsm\b|__CUDA_ARCH__|threads <= \d{4})");
  std::smatch found;
  return std::regex_search(line, found, kNamed) ? found.str() : "";
}

}  // namespace

TEST_CASE("no template names an architecture: it asks for what a GPU can do") {
  CHECK(named_architecture(R"("requires": "sm >= 80")") == "sm");
  CHECK(named_architecture("min_blocks * threads <= 2048") == "threads <= 2048");
  CHECK(named_architecture("min_blocks * threads <= threads_per_sm").empty());
  for (const auto& [path, source] : shipped_templates()) {
    if (!is_device_code(path) && !path.ends_with(".json")) continue;
    for (const std::string& line : split(source, '\n')) {
      INFO(path << ": " << line);
      CHECK(named_architecture(line).empty());
    }
  }
}
