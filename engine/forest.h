#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/rng.h"
#include "engine/space.h"

namespace evo {

/// Points as rows of numbers that trees can split. A gene of positive numbers stands as the logarithm of its
/// allele, so that sums and differences of two genes are products and ratios (threads of a block, elements of
/// a tile); any other gene as the index of its allele. Genes of equal name, kind and alleles share a column
/// among families.
class Encoding {
 public:
  explicit Encoding(const Space& space);

  std::size_t columns() const { return columns_.size(); }
  /// Writes columns() numbers.
  void encode(const Point& point, float* row) const;

  /// A column whose values have no order: it is split by equality.
  bool unordered(std::size_t column) const { return columns_[column].unordered; }
  /// Columns of logarithms with more than one allele: pairs of them are split by sum and difference.
  const std::vector<std::size_t>& logarithmic() const { return logarithmic_; }
  /// Columns with more than one value.
  const std::vector<std::size_t>& varying() const { return varying_; }

 private:
  struct Column {
    bool unordered = false;
    std::vector<float> values;  // by allele
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::size_t>> column_of_;  // by family and gene
  std::vector<std::size_t> logarithmic_;
  std::vector<std::size_t> varying_;
};

struct Prediction {
  float mean = 0;
  float spread = 0;  ///< Standard deviation between the trees.
};

/// Extremely randomised trees (Geurts et al., 2006): the regression behind the strategy `evolve`. They need
/// no scale of the target, find which genes matter, cost microseconds, and where they know little they
/// disagree.
class Forest {
 public:
  struct Options {
    std::size_t trees = 16;
    std::size_t tries = 8;    ///< Random splits compared at each node.
    double pair_share = 0.4;  ///< Of the tries: a sum or difference of two columns.
  };
  Forest(const Encoding& encoding, Options options) : encoding_(&encoding), options_(options) {}

  bool empty() const { return roots_.empty(); }
  /// `rows`: encoding.columns() numbers for each target.
  void fit(std::span<const float> rows, std::span<const float> targets, Rng& rng);
  Prediction predict(const float* row) const;

 private:
  struct Node {
    std::int32_t a = -1;      ///< -1: a leaf.
    std::int32_t b = -1;      ///< Second column; -1: none.
    float sign = 0;           ///< Of the second column; with a single column nonzero: equality.
    float value = 0;          ///< Threshold, the value of equality, or the leaf's mean.
    std::uint32_t below = 0;  ///< The child where the test holds; the other stands after it.
  };
  /// The number that a node tests.
  static float feature(const Node& node, const float* row) {
    return node.b >= 0 ? row[node.a] + node.sign * row[node.b] : row[node.a];
  }
  static bool holds(const Node& node, float feature) {
    return node.b < 0 && node.sign != 0 ? feature == node.value : feature <= node.value;
  }
  class Growing;

  const Encoding* encoding_;
  Options options_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

}  // namespace evo
