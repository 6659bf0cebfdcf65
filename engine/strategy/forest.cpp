#include "engine/strategy/forest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

namespace evo {
Encoding::Encoding(const Space& space, std::size_t further) {
  std::vector<const Gene*> owners;
  columns_.emplace_back().unordered = true;  // the family
  owners.push_back(nullptr);
  for (std::size_t f = 0; f < space.families().size(); ++f) {
    columns_[0].values.push_back(static_cast<float>(f));
    column_of_.emplace_back();
    for (const Gene& gene : space.families()[f].genes) {
      std::size_t column = 1;
      while (column < columns_.size() && !(owners[column]->name == gene.name && owners[column]->kind == gene.kind &&
                                           owners[column]->alleles == gene.alleles))
        ++column;
      column_of_.back().push_back(column);
      if (column < columns_.size()) continue;
      owners.push_back(&gene);
      GeneEncoding encoding = encoding_of(gene);
      if (encoding.logarithmic && gene.alleles.size() > 1) logarithmic_.push_back(column);
      columns_.push_back(std::move(encoding));
    }
  }
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].values.size() > 1 || (column > 0 && columns_[0].values.size() > 1)) varying_.push_back(column);
  }
  for (std::size_t i = 0; i < further; ++i) {
    varying_.push_back(columns_.size());
    columns_.emplace_back();
  }
}

void Encoding::encode(const Point& point, float* row) const {
  // Absent genes stand apart from every allele: logarithms of whole numbers and indices are not negative.
  std::fill(row, row + columns(), -1.0f);
  row[0] = static_cast<float>(point.family);
  for (std::size_t gene = 0; gene < point.alleles.size(); ++gene) {
    const int allele = point.alleles[gene];
    const std::size_t column = column_of_[point.family][gene];
    if (allele != kInactive) row[column] = columns_[column].values[static_cast<std::size_t>(allele)];
  }
}

/// One fit. Rows are kept column by column, so that a feature of a node's members is gathered from one place.
class Forest::Growing {
 public:
  Growing(Forest& forest, std::span<const float> rows, std::span<const float> targets, Rng& rng)
      : forest_(forest),
        rng_(rng),
        count_(targets.size()),
        features_(count_ * kAbreast),
        sorted_targets_(count_),
        targets_(targets) {
    const std::size_t width = forest.encoding_->columns();
    columns_.resize(width * count_);
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t column = 0; column < width; ++column) columns_[column * count_ + i] = rows[i * width + column];
    }
  }

  void tree() {
    members_.resize(count_);
    std::iota(members_.begin(), members_.end(), std::uint32_t{0});
    forest_.roots_.push_back(add_node());
    grow(forest_.roots_.back(), 0, count_);
  }

 private:
  // Splits are drawn by the thousand: 32 of each 64 random bits will do, scaled without a division.
  std::size_t draw(std::size_t bound) { return static_cast<std::size_t>(((next() >> 32) * bound) >> 32); }
  float unit() { return static_cast<float>(next() >> 40) * 0x1.0p-24f; }
  std::uint64_t next() {  // splitmix64 (Vigna)
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // So many are drawn before they are compared, side by side: then their sums do not wait for each other.
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kVectors = 2;
  static constexpr std::size_t kAbreast = kLanes * kVectors;
  using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  using Ints [[gnu::vector_size(kLanes * sizeof(float))]] = std::int32_t;

  std::uint32_t add_node() {
    const auto index = static_cast<std::uint32_t>(forest_.nodes_.size());
    forest_.nodes_.emplace_back().below = index;
    return index;
  }

  // The members' features to places kAbreast apart, and the least and the most of them.
  template <typename Feature>
  std::pair<float, float> gather_with(Feature feature, std::size_t begin, std::size_t end, float* features) {
    float low = feature(members_[begin]);
    float high = low;
    for (std::size_t i = begin; i < end; ++i, features += kAbreast) {
      const float value = feature(members_[i]);
      *features = value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    return {low, high};
  }
  std::pair<float, float> gather(const Node& node, std::size_t begin, std::size_t end, float* features) {
    const float* a = columns_.data() + node.a * count_;
    if (node.sign == 0) return gather_with([=](std::uint32_t i) { return a[i]; }, begin, end, features);
    const float* b = columns_.data() + node.b * count_;
    const float sign = node.sign;
    return gather_with([=](std::uint32_t i) { return a[i] + sign * b[i]; }, begin, end, features);
  }

  // A random test of the members, whose features are gathered; one that holds for all when they are the same.
  Node draw_split(std::size_t begin, std::size_t end, float* features) {
    const auto& logarithmic = forest_.encoding_->logarithmic();
    Node node;
    if (logarithmic.size() > 1 && unit() < forest_.options_.pair_share) {
      const std::size_t first = draw(logarithmic.size());
      std::size_t second = draw(logarithmic.size() - 1);
      second += second >= first;
      node.a = static_cast<std::uint32_t>(logarithmic[first]);
      node.b = static_cast<std::uint32_t>(logarithmic[second]);
      node.sign = next() & 1 ? 1.0f : -1.0f;
    } else {
      const auto& varying = forest_.encoding_->varying();
      node.a = static_cast<std::uint32_t>(varying[draw(varying.size())]);
    }
    const auto [low, high] = gather(node, begin, end, features);
    if (node.sign == 0 && forest_.encoding_->unordered(node.a)) {
      node.least = node.most = features[draw(end - begin) * kAbreast];
    } else if (low < high) {
      node.most = low + unit() * (high - low);
    }
    return node;
  }

  // The best of some random tests, if any splits.
  std::optional<Node> best_split(std::size_t begin, std::size_t end, float sum) {
    std::optional<Node> best;
    double best_gain = -1;
    for (std::size_t tried = 0; tried < forest_.options_.tries; tried += kAbreast) {
      const std::size_t abreast = std::min(kAbreast, forest_.options_.tries - tried);
      std::array<Node, kAbreast> splits;
      for (std::size_t i = 0; i < abreast; ++i) splits[i] = draw_split(begin, end, features_.data() + i);
      const std::array<double, kAbreast> gains = gains_of(splits, begin, end, sum);
      for (std::size_t i = 0; i < abreast; ++i) {
        if (!(gains[i] > best_gain)) continue;
        best_gain = gains[i];
        best = splits[i];
      }
    }
    return best;
  }

  // The reductions of the squared error, up to a constant; negative where the test does not split.
  std::array<double, kAbreast> gains_of(const std::array<Node, kAbreast>& splits, std::size_t begin, std::size_t end,
                                        float sum) const {
    std::array<Floats, kVectors> least{};
    std::array<Floats, kVectors> most{};
    for (std::size_t i = 0; i < kAbreast; ++i) {
      least[i / kLanes][i % kLanes] = splits[i].least;
      most[i / kLanes][i % kLanes] = splits[i].most;
    }
    std::array<Ints, kVectors> below{};
    std::array<Floats, kVectors> below_sum{};
    const float* features = features_.data();
    for (std::size_t member = begin; member < end; ++member, features += kAbreast) {
      const Ints target = Ints{} + std::bit_cast<std::int32_t>(sorted_targets_[member]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        Floats feature;
        std::memcpy(&feature, features + v * kLanes, sizeof feature);
        const Ints in = (feature >= least[v]) & (feature <= most[v]);  // all bits or none
        below[v] -= in;
        below_sum[v] += std::bit_cast<Floats>(in & target);
      }
    }
    std::array<double, kAbreast> gains;
    for (std::size_t i = 0; i < kAbreast; ++i) {
      const std::size_t lanes = i / kLanes;
      const auto count = static_cast<float>(below[lanes][i % kLanes]);
      const float others = static_cast<float>(end - begin) - count;
      const float part = below_sum[lanes][i % kLanes];
      const float rest = sum - part;
      gains[i] = count == 0 || others == 0 ? -1 : part * part / count + rest * rest / others;
    }
    return gains;
  }

  void grow(std::uint32_t at, std::size_t begin, std::size_t end) {
    float sum = 0;
    float least = targets_[members_[begin]];
    float most = least;
    for (std::size_t i = begin; i < end; ++i) {
      const float target = targets_[members_[i]];
      sorted_targets_[i] = target;
      sum += target;
      least = std::min(least, target);
      most = std::max(most, target);
    }
    forest_.nodes_[at].mean = sum / static_cast<float>(end - begin);
    if (!(least < most)) return;
    std::optional<Node> best = best_split(begin, end, sum);
    if (!best) return;
    gather(*best, begin, end, features_.data());
    std::size_t middle = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (best->holds(features_[(i - begin) * kAbreast])) std::swap(members_[i], members_[middle++]);
    }
    best->below = add_node();
    add_node();
    forest_.nodes_[at] = *best;
    grow(best->below, begin, middle);
    grow(best->below + 1, middle, end);
  }

  Forest& forest_;
  Rng& rng_;
  std::uint64_t state_ = rng_.next();
  std::size_t count_;
  std::vector<float> columns_;
  std::vector<float> features_;        // of the node at hand: by member, kAbreast tests side by side
  std::vector<float> sorted_targets_;  // of its members
  std::vector<std::uint32_t> members_;
  std::span<const float> targets_;
};

void Forest::fit(std::span<const float> rows, std::span<const float> targets, Rng& rng) {
  nodes_.clear();
  roots_.clear();
  Growing growing(*this, rows, targets, rng);
  for (std::size_t tree = 0; tree < options_.trees; ++tree) growing.tree();
}

Prediction Forest::predict(const float* row) const {
  // Trees are walked side by side, so that none waits for another's loads.
  constexpr std::size_t kAbreast = 4;
  double sum = 0;
  double squares = 0;
  for (std::size_t tree = 0; tree < roots_.size(); tree += kAbreast) {
    std::array<std::uint32_t, kAbreast> at;
    for (std::size_t i = 0; i < kAbreast; ++i) at[i] = roots_[std::min(tree + i, roots_.size() - 1)];
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t& node : at) {
        const Node& here = nodes_[node];
        const std::uint32_t next = here.below + (here.holds(here.feature(row)) ? 0 : 1);
        moved |= next != node;
        node = next;
      }
    }
    for (std::size_t i = 0; i < std::min(kAbreast, roots_.size() - tree); ++i) {
      const double mean = nodes_[at[i]].mean;
      sum += mean;
      squares += mean * mean;
    }
  }
  const auto trees = static_cast<double>(roots_.size());
  const double mean = sum / trees;
  return {static_cast<float>(mean), static_cast<float>(std::sqrt(std::max(0.0, squares / trees - mean * mean)))};
}

}  // namespace evo
