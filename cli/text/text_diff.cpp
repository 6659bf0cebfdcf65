#include "cli/text/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace evo::cli {
namespace {

using Lines = std::vector<std::string_view>;

struct Edit {
  char kind;  ///< ' ', '-' or '+'.
  std::string_view line;
};

constexpr std::ptrdiff_t kContext = 3;
/// Beyond this many differing lines the texts are shown as replaced: the search below takes memory of its
/// square.
constexpr std::ptrdiff_t kMostEdits = 4000;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The furthest reaching x on each diagonal after each number of edits (E. Myers, An O(ND) Difference
/// Algorithm, 1986). Empty when more than kMostEdits are needed.
std::vector<std::vector<std::ptrdiff_t>> furthest_points(const Lines& a, const Lines& b) {
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const auto m = static_cast<std::ptrdiff_t>(b.size());
  std::vector<std::vector<std::ptrdiff_t>> trace;
  std::vector<std::ptrdiff_t> previous;
  for (std::ptrdiff_t d = 0; d <= std::min(n + m, kMostEdits); ++d) {
    // Diagonal k is at index k + d.
    std::vector<std::ptrdiff_t> reach(static_cast<std::size_t>(2 * d + 1), 0);
    for (std::ptrdiff_t k = -d; k <= d; k += 2) {
      const auto before = [&](std::ptrdiff_t diagonal) { return previous[static_cast<std::size_t>(diagonal + d - 1)]; };
      std::ptrdiff_t x = 0;
      if (d > 0) x = (k == -d || (k != d && before(k - 1) < before(k + 1))) ? before(k + 1) : before(k - 1) + 1;
      std::ptrdiff_t y = x - k;
      while (x < n && y < m && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)]) ++x, ++y;
      reach[static_cast<std::size_t>(k + d)] = x;
      if (x >= n && y >= m) {
        trace.push_back(std::move(reach));
        return trace;
      }
    }
    trace.push_back(reach);
    previous = std::move(reach);
  }
  return {};
}

std::vector<Edit> replaced(const Lines& a, const Lines& b) {
  std::vector<Edit> edits;
  for (const std::string_view line : a) edits.push_back({'-', line});
  for (const std::string_view line : b) edits.push_back({'+', line});
  return edits;
}

std::vector<Edit> shortest_edits(const Lines& a, const Lines& b) {
  const auto trace = furthest_points(a, b);
  if (trace.empty()) return replaced(a, b);
  std::vector<Edit> edits;
  auto x = static_cast<std::ptrdiff_t>(a.size());
  auto y = static_cast<std::ptrdiff_t>(b.size());
  const auto keep = [&] { edits.push_back({' ', a[static_cast<std::size_t>(--x)]}), --y; };
  for (auto d = static_cast<std::ptrdiff_t>(trace.size()) - 1; d > 0; --d) {
    const auto& reach = trace[static_cast<std::size_t>(d - 1)];
    const auto before = [&](std::ptrdiff_t diagonal) { return reach[static_cast<std::size_t>(diagonal + d - 1)]; };
    const std::ptrdiff_t k = x - y;
    const bool inserted = k == -d || (k != d && before(k - 1) < before(k + 1));
    const std::ptrdiff_t from_x = before(inserted ? k + 1 : k - 1);
    const std::ptrdiff_t from_y = from_x - (inserted ? k + 1 : k - 1);
    while (x > from_x + (inserted ? 0 : 1) || y > from_y + (inserted ? 1 : 0)) keep();
    if (inserted) {
      edits.push_back({'+', b[static_cast<std::size_t>(--y)]});
    } else {
      edits.push_back({'-', a[static_cast<std::size_t>(--x)]});
    }
  }
  while (x > 0) keep();
  std::reverse(edits.begin(), edits.end());
  return edits;
}

/// `diff -u` counts lines from 1, but a range without lines is named by the line before it.
std::string range(std::ptrdiff_t first, std::ptrdiff_t count) {
  if (count == 1) return std::to_string(first + 1);
  return fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

}  // namespace

std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name, std::string_view b_name) {
  if (a == b) return {};
  const std::vector<Edit> edits = shortest_edits(lines_of(a), lines_of(b));
  const auto count = static_cast<std::ptrdiff_t>(edits.size());
  const auto changed = [&](std::ptrdiff_t i) { return edits[static_cast<std::size_t>(i)].kind != ' '; };
  std::string out = fmt::format("--- {}\n+++ {}\n", a_name, b_name);
  std::ptrdiff_t a_line = 0, b_line = 0;
  for (std::ptrdiff_t i = 0; i < count;) {
    std::ptrdiff_t first = i;
    while (first < count && !changed(first)) ++first;
    if (first == count) break;
    const std::ptrdiff_t begin = std::max(i, first - kContext);
    a_line += begin - i, b_line += begin - i;
    // Changes that share context lines make one hunk.
    std::ptrdiff_t end = first, quiet = 0;
    while (end < count && quiet <= 2 * kContext) quiet = changed(end++) ? 0 : quiet + 1;
    end -= std::max<std::ptrdiff_t>(0, quiet - kContext);
    std::string body;
    std::ptrdiff_t a_count = 0, b_count = 0;
    for (std::ptrdiff_t j = begin; j < end; ++j) {
      const Edit& edit = edits[static_cast<std::size_t>(j)];
      a_count += edit.kind != '+';
      b_count += edit.kind != '-';
      body += fmt::format("{}{}\n", edit.kind, edit.line);
    }
    out += fmt::format("@@ -{} +{} @@\n{}", range(a_line, a_count), range(b_line, b_count), body);
    a_line += a_count, b_line += b_count;
    i = end;
  }
  return out;
}

}  // namespace evo::cli
