// Templates read as the algorithm: choices are device code (if constexpr, overloads) wherever they can be, and
// directives are left for what device code cannot say.

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <set>
#include <string>

#include "engine/base/text.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

constexpr double kMostDirectives = 0.15;

// Still above: families whose choices are not device code yet.
const std::set<std::string> kAbove = {
    "fp8_sdpa/mma_sync/exponential/ex2_f16x2.cu",
    "fp8_sdpa/mma_sync/exponential/f32.cuh",
    "fp8_sdpa/mma_sync/exponential/octaves.cuh",
    "fp8_sdpa/mma_sync/kernel.cu",
    "fp8_sdpa/mma_sync/output.cuh",
    "fp8_sdpa/mma_sync/scores.cuh",
    "fp8_sdpa/mma_sync/transposed_values.cuh",
    "fp8_sdpa/mma_sync/value_product.cuh",
    "fp8_sdpa/mma_sync/values.cuh",
    "fp8_sdpa/reference.cu",
    "fp8_sdpa/reference_row.cuh",
    "sim_fp8_sdpa/decoders.cuh",
    "sim_fp8_sdpa/mma_sync/kernel.cu",
    "sim_fp8_sdpa/work.cuh",
};

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
    CHECK((share_of_directives(source) <= kMostDirectives || kAbove.contains(path)));
  }
  CHECK(checked > 100);
}

TEST_CASE("a template that keeps to the share of directives is not listed as one that does not") {
  for (const std::string& path : kAbove) {
    INFO(path);
    const auto file = shipped_templates().find(path);
    REQUIRE(file != shipped_templates().end());
    CHECK(share_of_directives(file->second) > kMostDirectives);
  }
}
