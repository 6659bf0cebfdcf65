#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "engine/short_form/short_form_reader.h"

// Where the kernel runs: grid, block, cluster.
namespace evo {
namespace {

constexpr std::array<char, 3> kAxisLetters = {'x', 'y', 'z'};

}  // namespace

std::optional<JsonPlace> ShortFormReader::found(const JsonPlace& launch, const char* key) const {
  const auto own = launch.find(key);
  return own ? own : root_.find(key);
}

std::optional<std::vector<std::string>> ShortFormReader::extents(const JsonPlace& launch, const char* key) {
  const auto place = found(launch, key);
  if (!place) return std::nullopt;
  const std::vector<JsonPlace> items = place->one_or_more();
  if (items.empty() || items.size() > 3) place->fail("one to three extents are needed");
  std::vector<std::string> texts;
  for (const JsonPlace& item : items) {
    texts.push_back(item.expression().text());
    scope_.check(item, item.expression());
  }
  return texts;
}

std::vector<std::string> ShortFormReader::three(std::vector<std::string> extents) {
  extents.resize(3, "1");
  return extents;
}

void ShortFormReader::geometry() {
  for (std::size_t i = launches_.size(); i-- > 0;) add_launch(launches_[i], i);  // The first one's sizes stay.
  std::ranges::reverse(family_["launches"]);
}

void ShortFormReader::add_launch(const JsonPlace& place, std::size_t number) {
  const std::string& kernel = launched_[number].function;
  const auto block = extents(place, "block");
  block_ = three(block ? *block : usual_block(place));
  const auto grid = extents(place, "grid");
  grid_ = three(grid ? *grid : divided_grid(place));
  Json launch = {{"kernel", kernel}, {"grid", grid_}, {"block", block_}};
  if (const auto when = place.find("when")) {
    scope_.check(*when, when->expression());
    launch["when"] = when->expression().text();
  }
  if (const auto cluster = extents(place, "cluster")) launch["cluster"] = three(*cluster);
  if (const auto shared = found(place, "shared")) {
    scope_.check(*shared, shared->expression());
    launch["dynamic_smem"] = shared_ = shared->expression().text();
  }
  launch["arguments"] = arguments_[number];
  family_["launches"].push_back(launch);
  const std::string made = fmt::format("launches[{}].", number);
  const auto author = [&](const char* key) { return place.find(key) && root_.find("launches") ? made + key : key; };
  family_origin(made + "dynamic_smem", author("shared"));
  for (const char* key : {"kernel", "grid", "block", "cluster", "arguments", "when"})
    family_origin(made + key, author(key));
  for (const char* key : {"grid", "block", "cluster"})  // where a shape decides
    family_origin(fmt::format("launch {}: {}", kernel, key), author(key) + std::string(":"));
  limit_threads();
}

std::vector<std::string> ShortFormReader::usual_block(const JsonPlace& launch) const {
  std::vector<std::string> block;
  for (const char axis : kAxisLetters) {
    const std::string gene = fmt::format("block_size_{}", axis);
    block.push_back(genes_.contains(gene) ? gene : "1");
  }
  if (block[0] == "1")
    launch.fail(
        "key 'block' is missing: the threads of a block, as [\"block_size_x\"]; genes block_size_x, _y and _z "
        "are taken without it");
  return block;
}

std::vector<std::string> ShortFormReader::divided_grid(const JsonPlace& launch) {
  const auto problem = extents(launch, "problem_size");
  if (!problem) launch.fail("key 'grid' is missing: the blocks of the grid, as [\"ceil_div(N, block_size_x)\"]");
  std::vector<std::string> grid;
  for (std::size_t i = 0; i < problem->size(); ++i) {
    std::vector<std::string> divisors;
    const std::string key = fmt::format("grid_div_{}", kAxisLetters[i]);
    if (const auto given = found(launch, key.c_str())) {
      for (const JsonPlace& item : given->one_or_more()) {
        scope_.check(item, item.expression());
        divisors.push_back("(" + item.expression().text() + ")");
      }
    } else if (block_[i] != "1") {
      divisors.push_back("(" + block_[i] + ")");
    }
    grid.push_back(divisors.empty() ? (*problem)[i]
                                    : fmt::format("ceil_div({}, {})", (*problem)[i], fmt::join(divisors, " * ")));
  }
  return grid;
}

void ShortFormReader::limit_threads() {
  std::vector<std::string> factors;
  for (const std::string& extent : block_) {
    if (extent == "1") continue;
    for (const std::string& name : Expression::parse(extent).names()) {
      const bool runtime = std::ranges::find(parameters_, name) != parameters_.end() &&
                           std::ranges::find(specialised_, name) == specialised_.end();
      if (runtime) return;
    }
    factors.push_back(is_identifier(extent) ? extent : "(" + extent + ")");
  }
  if (factors.empty()) return;
  add_constraint({{"that", fmt::format("{} <= threads_per_block", fmt::join(factors, " * "))},
                  {"why", "a block has at most that many threads"}},
                 "block");
}

}  // namespace evo
