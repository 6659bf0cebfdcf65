#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/rng.h"
#include "engine/expression/expression.h"
#include "engine/space/diagram_graph.h"
#include "engine/task/family.h"
#include "engine/task/point.h"

namespace evo {

/// The legal genomes of one family as a decision diagram: one level for each gene, one edge for each allele
/// that some legal genome has after the edges before it. Nodes of a level whose remaining constraints are
/// equal are one node, so a diagram is small where the product is not.
class Diagram {
 public:
  /// `facts`: device facts and options. Every constraint must hold under each specialisation. Throws
  /// usage_error for a constraint that has no value for some otherwise legal genome, and when constraints
  /// entangle too many genes.
  Diagram(const Family& family, const Bindings& facts, const std::vector<Bindings>& specialisations);
  /// The diagram of these genomes and no others. Throws usage_error when a gene is active in one and inactive
  /// in another whose earlier genes are equal.
  Diagram(const Family& family, std::vector<Path> genomes);

  /// Exact below 2^63, else saturated there.
  std::uint64_t size() const { return graph_.nodes[root_].count; }
  double approximate_size() const { return graph_.nodes[root_].weight; }

  /// Uniform over the genomes. The diagram must not be empty.
  Path sample(Rng& rng) const;
  /// Gene by gene, every allele that some genome has after those before it is as likely as any other. An allele that
  /// few genomes have, since it leaves the other genes little choice, is drawn far more often so.
  Path sample_evenly(Rng& rng) const;
  /// The genome of an index below size(), which must not be saturated.
  Path at(std::uint64_t index) const;

  bool contains(const Path& genome) const;

  /// The genomes that agree with `wish` wherever both name an allele; at most `limit`, in index order.
  std::vector<Path> matching(const Path& wish, std::size_t limit) const;

  /// A genome that differs from `wish` in the fewest genes, uniform among these. Genes marked in `kept` must
  /// be active with the wished allele; empty when no genome is so.
  std::optional<Path> nearest(const Path& wish, const std::vector<bool>& kept, Rng& rng) const;

 private:
  using NodeId = DiagramGraph::NodeId;
  using Node = DiagramGraph::Node;
  class Builder;
  class Lister;

  NodeId child(NodeId node, std::size_t edge) const { return graph_.child(node, edge); }
  std::size_t pick(const Node& node, Rng& rng) const;
  /// The genome along the edges that `choose` takes, node by node.
  template <typename Choose>
  Path descend(const Choose& choose) const;
  void match(NodeId node, const Path& wish, Path& prefix, std::size_t limit, std::vector<Path>& found) const;
  std::optional<Path> nearest_within(const Path& wish, const std::vector<bool>& kept, int budget, Rng& rng) const;

  std::size_t levels_ = 0;
  NodeId root_ = DiagramGraph::kDead;
  DiagramGraph graph_;
};

}  // namespace evo
