#include "engine/diagram.h"

#include <algorithm>
#include <unordered_map>

namespace evo {
namespace {

constexpr std::uint64_t kSaturated = std::uint64_t{1} << 63;

}  // namespace

std::size_t Diagram::pick(const Node& node, Rng& rng) const {
  if (node.count < kSaturated) {
    std::uint64_t drawn = rng.below(node.count);
    for (std::size_t edge = 0;; ++edge) {
      const std::uint64_t below = nodes_[edges_[node.first_edge + edge]].count;
      if (drawn < below) return edge;
      drawn -= below;
    }
  }
  double drawn = rng.unit() * node.weight;
  std::size_t last = 0;
  for (std::size_t edge = 0; edge < node.edges; ++edge) {
    const double below = nodes_[edges_[node.first_edge + edge]].weight;
    if (below == 0) continue;
    last = edge;
    if (drawn < below) break;
    drawn -= below;
  }
  return last;
}

Path Diagram::sample(Rng& rng) const {
  Path path;
  for (NodeId node = root_; path.size() < levels_;) {
    const std::size_t edge = pick(nodes_[node], rng);
    path.push_back(nodes_[node].active ? static_cast<int>(edge) : kInactive);
    node = child(node, edge);
  }
  return path;
}

Path Diagram::at(std::uint64_t index) const {
  Path path;
  for (NodeId node = root_; path.size() < levels_;) {
    std::size_t edge = 0;
    while (index >= nodes_[child(node, edge)].count) index -= nodes_[child(node, edge++)].count;
    path.push_back(nodes_[node].active ? static_cast<int>(edge) : kInactive);
    node = child(node, edge);
  }
  return path;
}

bool Diagram::contains(const Path& genome) const {
  NodeId node = root_;
  for (std::size_t level = 0; level < levels_ && node != kDead; ++level) {
    const bool active = nodes_[node].active;
    if (active != (genome[level] != kInactive)) return false;
    node = child(node, active ? static_cast<std::size_t>(genome[level]) : 0);
  }
  return node != kDead;
}

std::vector<Path> Diagram::matching(const Path& wish, std::size_t limit) const {
  std::vector<Path> found;
  Path prefix;
  if (root_ != kDead) match(root_, wish, prefix, limit, found);
  return found;
}

void Diagram::match(NodeId node, const Path& wish, Path& prefix, std::size_t limit,
                    std::vector<Path>& found) const {
  if (found.size() >= limit) return;
  const std::size_t level = prefix.size();
  if (level == levels_) {
    found.push_back(prefix);
    return;
  }
  for (std::size_t edge = 0; edge < nodes_[node].edges; ++edge) {
    const bool active = nodes_[node].active;
    const int allele = active ? static_cast<int>(edge) : kInactive;
    if (child(node, edge) == kDead || (active && wish[level] != kInactive && wish[level] != allele)) continue;
    prefix.push_back(allele);
    match(child(node, edge), wish, prefix, limit, found);
    prefix.pop_back();
  }
}

std::optional<Path> Diagram::nearest(const Path& wish, const std::vector<bool>& kept, Rng& rng) const {
  for (int budget = 0; budget <= static_cast<int>(levels_); ++budget) {
    if (auto path = nearest_within(wish, kept, budget, rng)) return path;
  }
  return std::nullopt;
}

// Dynamic programming level by level over the nodes that are reached with at most `budget` differences, then
// a walk back that weighs each way in by the number of nearest genomes through it.
std::optional<Path> Diagram::nearest_within(const Path& wish, const std::vector<bool>& kept, int budget,
                                            Rng& rng) const {
  struct Arrival {
    std::size_t from;  // index in the level before
    int allele;
    int cost;
  };
  struct Reached {
    NodeId node;
    int cost;
    double ways;
    std::vector<Arrival> arrivals;
  };
  if (root_ == kDead) return std::nullopt;
  std::vector<std::vector<Reached>> frontiers = {{{root_, 0, 1.0, {}}}};
  for (std::size_t level = 0; level < levels_; ++level) {
    std::vector<Reached> next;
    std::unordered_map<NodeId, std::size_t> places;
    for (std::size_t from = 0; from < frontiers.back().size(); ++from) {
      const Reached& here = frontiers.back()[from];
      const Node& node = nodes_[here.node];
      for (std::size_t edge = 0; edge < node.edges; ++edge) {
        const NodeId to = child(here.node, edge);
        const int allele = node.active ? static_cast<int>(edge) : kInactive;
        const bool differs = node.active && wish[level] != kInactive && wish[level] != allele;
        const int cost = here.cost + (differs ? 1 : 0);
        if (to == kDead || cost > budget || (kept[level] && (!node.active || differs))) continue;
        const auto [place, added] = places.emplace(to, next.size());
        if (added) next.push_back({to, cost, 0.0, {}});
        Reached& reached = next[place->second];
        if (cost < reached.cost) reached = {to, cost, 0.0, {}};
        if (cost > reached.cost) continue;
        reached.ways += here.ways;
        reached.arrivals.push_back({from, allele, cost});
      }
    }
    if (next.empty()) return std::nullopt;
    frontiers.push_back(std::move(next));
  }
  Path path(levels_);
  std::size_t at = 0;  // the end node is the only one of the last level
  for (std::size_t level = levels_; level-- > 0;) {
    const Reached& here = frontiers[level + 1][at];
    double drawn = rng.unit() * here.ways;
    const Arrival* chosen = nullptr;
    for (const Arrival& arrival : here.arrivals) {
      chosen = &arrival;
      drawn -= frontiers[level][arrival.from].ways;
      if (drawn < 0) break;
    }
    path[level] = chosen->allele;
    at = chosen->from;
  }
  return path;
}

}  // namespace evo
