#include "evaluator/judge/arrangement.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace evo {
namespace {

/// What comparing one line with all others may cost, in elements.
constexpr std::uint64_t kMostWork = std::uint64_t{1} << 27;
constexpr std::uint64_t kGroups[] = {2, 4, 8, 16, 32, 64, 128};
constexpr std::uint64_t kTiles[] = {8, 16, 32, 64};

using Order = std::vector<std::uint64_t>;  ///< order[i]: the line of `want` that is found at i.

/// Matrices of the last two dims, one after another.
struct Matrices {
  std::span<const double> got, want;
  std::uint64_t count = 1, rows = 1, columns = 1;
  Tolerance tolerance;

  bool equal(std::uint64_t got_at, std::uint64_t want_at) const { return tolerance.holds(got[got_at], want[want_at]); }
  std::uint64_t at(std::uint64_t matrix, std::uint64_t row, std::uint64_t column) const {
    return (matrix * rows + row) * columns + column;
  }
};

bool is_identity(const Order& order) {
  for (std::uint64_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

/// Moves that have a name: neighbours exchanged, reversed, shifted round.
std::vector<Order> named_orders(std::uint64_t lines) {
  std::vector<Order> orders(1, Order(lines));
  for (std::uint64_t i = 0; i < lines; ++i) orders[0][i] = std::min(i ^ 1, lines - 1);
  if (lines % 2 == 1) orders.clear();
  Order reversed(lines);
  for (std::uint64_t i = 0; i < lines; ++i) reversed[i] = lines - 1 - i;
  orders.push_back(std::move(reversed));
  for (std::uint64_t shift = 1; shift < lines; ++shift) {
    Order shifted(lines);
    for (std::uint64_t i = 0; i < lines; ++i) shifted[i] = (i + shift) % lines;
    orders.push_back(std::move(shifted));
  }
  return orders;
}

/// The line that each line holds, when each is found and none twice. A move that has a name is preferred; else its own
/// place is tried first, so that equal lines do not look moved.
std::optional<Order> order_of(std::uint64_t lines, std::uint64_t length,
                              const std::function<bool(std::uint64_t, std::uint64_t)>& same) {
  if (lines < 2 || lines * lines * length > kMostWork) return std::nullopt;
  for (Order& order : named_orders(lines)) {
    std::uint64_t i = 0;
    while (i < lines && same(i, order[i])) ++i;
    if (i == lines) return std::move(order);
  }
  Order order(lines, lines);
  std::vector<bool> taken(lines);
  for (std::uint64_t i = 0; i < lines; ++i) {
    if (!same(i, i)) continue;
    order[i] = i;
    taken[i] = true;
  }
  for (std::uint64_t i = 0; i < lines; ++i) {
    if (order[i] < lines) continue;
    for (std::uint64_t j = 0; j < lines && order[i] == lines; ++j)
      if (!taken[j] && same(i, j)) order[i] = j;
    if (order[i] == lines) return std::nullopt;
    taken[order[i]] = true;
  }
  if (is_identity(order)) return std::nullopt;
  return order;
}

std::string words_of(const Order& order, std::string_view lines) {
  const std::uint64_t count = order.size();
  const auto all = [&](const auto& rule) {
    for (std::uint64_t i = 0; i < count; ++i)
      if (order[i] != rule(i)) return false;
    return true;
  };
  const std::uint64_t shift = order[0];
  if (all([&](std::uint64_t i) { return i ^ 1; })) return fmt::format("{} are exchanged in pairs", lines);
  if (all([&](std::uint64_t i) { return (i + shift) % count; })) {
    return 2 * shift > count ? fmt::format("{} come {} later", lines, count - shift)
                             : fmt::format("{} come {} sooner", lines, shift);
  }
  if (all([&](std::uint64_t i) { return count - 1 - i; })) return fmt::format("{} are reversed", lines);
  for (const std::uint64_t group : kGroups) {
    if (count % group != 0 || count <= group) continue;
    const bool inside = all([&](std::uint64_t i) { return i / group * group + order[i % group] % group; });
    if (!inside || order[0] >= group) continue;
    const Order first(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(group, 16)));
    return fmt::format("{} are permuted within groups of {}: {}{}", lines, group, fmt::join(first, " "),
                       group > 16 ? " ..." : "");
  }
  const Order first(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, 16)));
  return fmt::format("{} are permuted: {}{}", lines, fmt::join(first, " "), count > 16 ? " ..." : "");
}

std::string moved_columns(const Matrices& all) {
  const auto same = [&](std::uint64_t i, std::uint64_t j) {
    for (std::uint64_t row = 0; row < all.count * all.rows; ++row)
      if (!all.equal(row * all.columns + i, row * all.columns + j)) return false;
    return true;
  };
  const auto order = order_of(all.columns, all.count * all.rows, same);
  return order ? words_of(*order, "columns") : "";
}

/// The same order in every matrix.
std::string moved_rows(const Matrices& all) {
  const auto same = [&](std::uint64_t i, std::uint64_t j) {
    for (std::uint64_t matrix = 0; matrix < all.count; ++matrix)
      for (std::uint64_t column = 0; column < all.columns; ++column)
        if (!all.equal(all.at(matrix, i, column), all.at(matrix, j, column))) return false;
    return true;
  };
  const auto order = order_of(all.rows, all.count * all.columns, same);
  return order ? words_of(*order, "rows") : "";
}

std::string moved_matrices(const Matrices& all) {
  const std::uint64_t size = all.rows * all.columns;
  const auto same = [&](std::uint64_t i, std::uint64_t j) {
    for (std::uint64_t k = 0; k < size; ++k)
      if (!all.equal(i * size + k, j * size + k)) return false;
    return true;
  };
  const auto order = order_of(all.count, size, same);
  return order ? words_of(*order, "matrices (heads)") : "";
}

std::string transposed(const Matrices& all) {
  const auto holds = [&](std::uint64_t tile) {
    for (std::uint64_t matrix = 0; matrix < all.count; ++matrix)
      for (std::uint64_t row = 0; row < all.rows; ++row)
        for (std::uint64_t column = 0; column < all.columns; ++column) {
          const std::uint64_t from_row = row / tile * tile + column % tile;
          const std::uint64_t from_column = column / tile * tile + row % tile;
          if (!all.equal(all.at(matrix, row, column), all.at(matrix, from_row, from_column))) return false;
        }
    return true;
  };
  if (all.rows == all.columns && holds(all.rows)) return "matrices are transposed";
  for (const std::uint64_t tile : kTiles)
    if (all.rows % tile == 0 && all.columns % tile == 0 && holds(tile))
      return fmt::format("tiles of {0} x {0} are transposed", tile);
  return {};
}

}  // namespace

std::string arrangement_of(std::span<const double> got, std::span<const double> want, const std::vector<NamedDim>& dims,
                           const Tolerance& tolerance) {
  if (dims.empty() || want.empty()) return {};
  Matrices all{got, want, 1, 1, dims.back().size, tolerance};
  if (dims.size() > 1) all.rows = dims[dims.size() - 2].size;
  all.count = want.size() / (all.rows * all.columns);
  for (const auto& move : {moved_columns, moved_rows, transposed, moved_matrices})
    if (const std::string words = move(all); !words.empty()) return words;
  return {};
}

}  // namespace evo
