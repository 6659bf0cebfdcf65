#include "engine/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace evo {
namespace {

bool all_positive_numbers(const Gene& gene) {
  return gene.kind == Gene::Kind::number &&
         std::all_of(gene.alleles.begin(), gene.alleles.end(), [](const Value& v) {
           const auto* number = std::get_if<std::int64_t>(&v);
           return number && *number > 0;
         });
}

}  // namespace

Encoding::Encoding(const Space& space) {
  std::vector<const Gene*> owners;
  columns_.push_back({true, {}});  // the family
  owners.push_back(nullptr);
  for (std::size_t f = 0; f < space.families().size(); ++f) {
    columns_[0].values.push_back(static_cast<float>(f));
    column_of_.emplace_back();
    for (const Gene& gene : space.families()[f].genes) {
      std::size_t column = 1;
      while (column < columns_.size() &&
             !(owners[column]->name == gene.name && owners[column]->kind == gene.kind &&
               owners[column]->alleles == gene.alleles))
        ++column;
      column_of_.back().push_back(column);
      if (column < columns_.size()) continue;
      owners.push_back(&gene);
      Column added;
      added.unordered = gene.kind == Gene::Kind::category || gene.kind == Gene::Kind::slot;
      const bool logarithms = all_positive_numbers(gene);
      for (std::size_t i = 0; i < gene.alleles.size(); ++i) {
        added.values.push_back(logarithms ? static_cast<float>(std::log2(
                                                static_cast<double>(std::get<std::int64_t>(gene.alleles[i]))))
                                          : static_cast<float>(i));
      }
      if (logarithms && gene.alleles.size() > 1) logarithmic_.push_back(column);
      columns_.push_back(std::move(added));
    }
  }
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].values.size() > 1 || (column > 0 && columns_[0].values.size() > 1))
      varying_.push_back(column);
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
        features_(count_),
        sorted_targets_(count_),
        targets_(targets) {
    const std::size_t width = forest.encoding_->columns();
    columns_.resize(width * count_);
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t column = 0; column < width; ++column)
        columns_[column * count_ + i] = rows[i * width + column];
    }
  }

  void tree() {
    members_.resize(count_);
    std::iota(members_.begin(), members_.end(), std::uint32_t{0});
    forest_.roots_.push_back(static_cast<std::uint32_t>(forest_.nodes_.size()));
    forest_.nodes_.emplace_back();
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

  void gather(const Node& node, std::size_t begin, std::size_t end) {
    const float* a = columns_.data() + static_cast<std::size_t>(node.a) * count_;
    if (node.b < 0) {
      for (std::size_t i = begin; i < end; ++i) features_[i] = a[members_[i]];
      return;
    }
    const float* b = columns_.data() + static_cast<std::size_t>(node.b) * count_;
    for (std::size_t i = begin; i < end; ++i) features_[i] = a[members_[i]] + node.sign * b[members_[i]];
  }

  // A random test of the members, whose features are gathered; a = -1 when they are all the same.
  Node draw_split(std::size_t begin, std::size_t end) {
    const auto& logarithmic = forest_.encoding_->logarithmic();
    Node node;
    if (logarithmic.size() > 1 && unit() < forest_.options_.pair_share) {
      const std::size_t first = draw(logarithmic.size());
      std::size_t second = draw(logarithmic.size() - 1);
      second += second >= first;
      node.a = static_cast<std::int32_t>(logarithmic[first]);
      node.b = static_cast<std::int32_t>(logarithmic[second]);
      node.sign = next() & 1 ? 1.0f : -1.0f;
    } else {
      const auto& varying = forest_.encoding_->varying();
      node.a = static_cast<std::int32_t>(varying[draw(varying.size())]);
    }
    gather(node, begin, end);
    if (node.b < 0 && forest_.encoding_->unordered(static_cast<std::size_t>(node.a))) {
      node.sign = 1;
      node.value = features_[begin + draw(end - begin)];
      return node;
    }
    float low = features_[begin];
    float high = low;
    for (std::size_t i = begin; i < end; ++i) {
      low = std::min(low, features_[i]);
      high = std::max(high, features_[i]);
    }
    if (!(low < high)) return Node{};
    node.value = low + unit() * (high - low);
    return node;
  }

  // The reduction of the squared error, up to a constant; negative when the test does not split.
  double gain(const Node& node, std::size_t begin, std::size_t end, float sum) const {
    float below = 0;
    float below_sum = 0;
    if (node.b < 0 && node.sign != 0) {
      for (std::size_t i = begin; i < end; ++i) {
        const float in = features_[i] == node.value ? 1.0f : 0.0f;
        below += in;
        below_sum += in * sorted_targets_[i];
      }
    } else {
      for (std::size_t i = begin; i < end; ++i) {
        const float in = features_[i] <= node.value ? 1.0f : 0.0f;
        below += in;
        below_sum += in * sorted_targets_[i];
      }
    }
    const float above = static_cast<float>(end - begin) - below;
    if (below == 0 || above == 0) return -1;
    const float above_sum = sum - below_sum;
    return below_sum * below_sum / below + above_sum * above_sum / above;
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
    forest_.nodes_[at].value = sum / static_cast<float>(end - begin);
    if (!(least < most)) return;
    Node best;
    double best_gain = -1;
    for (std::size_t tried = 0; tried < forest_.options_.tries; ++tried) {
      const Node split = draw_split(begin, end);
      if (split.a < 0) continue;
      const double gained = gain(split, begin, end, sum);
      if (gained > best_gain) {
        best_gain = gained;
        best = split;
      }
    }
    if (best.a < 0) return;
    gather(best, begin, end);
    std::size_t middle = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (!holds(best, features_[i])) continue;
      std::swap(members_[i], members_[middle]);
      std::swap(features_[i], features_[middle]);
      ++middle;
    }
    best.below = static_cast<std::uint32_t>(forest_.nodes_.size());
    forest_.nodes_[at] = best;
    forest_.nodes_.resize(forest_.nodes_.size() + 2);
    grow(best.below, begin, middle);
    grow(best.below + 1, middle, end);
  }

  Forest& forest_;
  Rng& rng_;
  std::uint64_t state_ = rng_.next();
  std::size_t count_;
  std::vector<float> columns_;
  std::vector<float> features_;        // of the node at hand, in the order of its members
  std::vector<float> sorted_targets_;  // likewise
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
  double sum = 0;
  double squares = 0;
  for (const std::uint32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->a >= 0) node = &nodes_[node->below + (holds(*node, feature(*node, row)) ? 0 : 1)];
    sum += node->value;
    squares += static_cast<double>(node->value) * node->value;
  }
  const auto trees = static_cast<double>(roots_.size());
  const double mean = sum / trees;
  return {static_cast<float>(mean),
          static_cast<float>(std::sqrt(std::max(0.0, squares / trees - mean * mean)))};
}

}  // namespace evo
