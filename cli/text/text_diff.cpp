#include "cli/text/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <dtl/dtl.hpp>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/text.h"

namespace evo::cli {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  Lines lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// `diff -u` names a range without lines by the line before it, and leaves out a count of 1.
std::string range(long long first, long long count) {
  if (count == 1) return std::to_string(first);
  return fmt::format("{},{}", count == 0 ? first - 1 : first, count);
}

using Line = std::pair<std::string, dtl::elemInfo>;

bool ends_in_common(const std::vector<Line>& lines, std::ptrdiff_t count) {
  return std::ssize(lines) >= count && std::all_of(lines.end() - count, lines.end(), [](const Line& line) {
           return line.second.type == dtl::SES_COMMON;
         });
}

}  // namespace

std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name, std::string_view b_name) {
  if (a == b) return {};
  dtl::Diff<std::string, Lines> diff(lines_of(a), lines_of(b));
  diff.compose();
  diff.composeUnifiedHunks();
  std::string out = fmt::format("--- {}\n+++ {}\n", a_name, b_name);
  for (auto hunk : diff.getUniHunks()) {
    std::vector<Line> lines = std::move(hunk.common[0]);
    std::ranges::move(hunk.change, std::back_inserter(lines));
    std::ranges::move(hunk.common[1], std::back_inserter(lines));
    // dtl may give the last hunk a line of context too many.
    for (; ends_in_common(lines, dtl::DTL_CONTEXT_SIZE + 1); --hunk.b, --hunk.d) lines.pop_back();
    out += fmt::format("@@ -{} +{} @@\n", range(hunk.a, hunk.b), range(hunk.c, hunk.d));
    for (const auto& [line, info] : lines)
      out += fmt::format("{}{}\n", info.type == dtl::SES_ADD ? '+' : info.type == dtl::SES_DELETE ? '-' : ' ', line);
  }
  return out;
}

}  // namespace evo::cli
