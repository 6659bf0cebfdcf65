#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/base/rng.h"
#include "engine/space/space.h"

namespace evo {

/// Points as rows of numbers that trees can split: one column for each gene, encoded as engine/task/gene.h says, and
/// one for the family. Genes of equal name, kind and alleles share a column among families.
class Encoding {
 public:
  /// `further`: columns behind those of the genes, of ordered numbers that the caller fills in.
  explicit Encoding(const Space& space, std::size_t further = 0);

  std::size_t columns() const { return columns_.size(); }
  /// Writes columns() numbers; the further ones are -1.
  void encode(const Point& point, float* row) const;

  /// A column whose values have no order: it is split by equality.
  bool unordered(std::size_t column) const { return columns_[column].unordered; }
  /// Columns of logarithms with more than one allele: pairs of them are split by sum and difference.
  const std::vector<std::size_t>& logarithmic() const { return logarithmic_; }
  /// Columns with more than one value.
  const std::vector<std::size_t>& varying() const { return varying_; }

 private:
  std::vector<GeneEncoding> columns_;
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
  /// Tests whether a row's feature, a column or the sum or difference of two, lies within [least, most]: a
  /// threshold or an equality. A leaf is a node whose every row stays.
  struct Node {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    float sign = 0;  ///< Of column b; 0: column a alone.
    float least = std::numeric_limits<float>::lowest();
    float most = std::numeric_limits<float>::max();
    float mean = 0;           ///< Of the targets.
    std::uint32_t below = 0;  ///< The child where the test holds; the other stands after it. A leaf: itself.

    float feature(const float* row) const { return row[a] + sign * row[b]; }
    bool holds(float feature) const { return (least <= feature) & (feature <= most); }
  };
  class Growing;

  const Encoding* encoding_;
  Options options_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

}  // namespace evo
