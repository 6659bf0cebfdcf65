#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/rng.h"
#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "engine/task/point.h"

namespace evo {

/// Why a genome of a family is illegal (unknown gene or allele, a gene missing or inactive, a broken constraint); empty
/// if legal. `facts` and `specialisations`: as for Space.
std::optional<std::string> why_illegal(const Family& family, const Genome& genome, const Bindings& facts,
                                       const std::vector<Bindings>& specialisations);

/// The legal genomes of a task's families under fixed device facts, options and specialisations. Kept as one
/// decision diagram per family: levels are genes, nodes merge partial genomes whose remaining constraints are
/// the same, so counting is exact and sampling uniform without listing the product.
class Space {
 public:
  /// `facts`: device facts and task options. `specialisations`: one set of values of task.specialised for
  /// each kernel a candidate must provide; a genome is legal only if every constraint holds under each of
  /// them. Families whose requirement does not hold are left out. Throws usage_error when nothing is left,
  /// with the reason.
  Space(std::vector<Family> families, const Bindings& facts, std::vector<Bindings> specialisations);
  /// A space of these genomes of one family and no others: a recorded one. Constraints and conditions are not
  /// checked. Throws usage_error when there are none, or when they do not agree on which genes are active.
  Space(Family family, std::vector<Path> genomes);
  ~Space();
  Space(Space&&) noexcept;
  Space& operator=(Space&&) noexcept;

  const std::vector<Family>& families() const;
  const Family& family(std::string_view name) const;

  /// Legal genomes; exact below 2^63, else saturated.
  std::uint64_t size() const;
  std::uint64_t size(std::string_view family) const;
  /// Size of the unconstrained product, for people; may be inexact.
  double product_size(std::string_view family) const;

  /// Uniform over the legal genomes.
  Genome sample(Rng& rng) const;
  Genome sample(Rng& rng, std::string_view family) const;

  /// The genome of an index below size(): all of them, each once, family after family. size() must not be
  /// saturated.
  Genome at(std::uint64_t index) const;
  static constexpr std::uint64_t kSaturated = std::uint64_t{1} << 63;

  /// Why a genome is none of these; empty if it is one.
  std::optional<std::string> why_illegal(const Genome& genome) const;
  bool contains(const Genome& genome) const { return !why_illegal(genome); }

  /// Legal genomes that differ in one gene (and in genes that become active by it, which take their allele
  /// from `genome` if it has one, else each legal allele, up to a bound). `adjacent`: numbers step to the
  /// next larger or smaller value only.
  enum class Step { adjacent, any };
  std::vector<Genome> neighbours(const Genome& genome, Step step) const;
  /// Those that differ in this gene.
  std::vector<Genome> neighbours(const Genome& genome, std::string_view gene, Step step) const;

  /// The legal genome nearest to `wish`: it has a different allele for as few genes as possible; ties are
  /// drawn uniformly. Genes that `wish` lacks or has an unknown allele for are free. The basis of mutation
  /// and crossover: offspring are legal by construction.
  Genome complete(const Genome& wish, Rng& rng) const;
  /// The same among the genomes that have the wished alleles of the genes `kept`; empty when there are none.
  std::optional<Genome> complete(const Genome& wish, const std::vector<std::string>& kept, Rng& rng) const;

  // The same on points, for strategies: an index costs less than a map of names.
  Point point_at(std::uint64_t index) const;
  Point sample_point(Rng& rng) const;
  Point sample_point(Rng& rng, std::size_t family) const;
  Point sample_point_evenly(Rng& rng, std::size_t family) const;  ///< As Diagram::sample_evenly.
  Genome genome(const Point& point) const;
  /// Genes that the genome lacks or has an unknown allele for are kInactive.
  Point point(const Genome& genome) const;
  /// Whether it is one of the space's.
  bool contains(const Point& point) const;
  /// Legal points that differ in this gene, as `neighbours`.
  std::vector<Point> neighbours(const Point& point, std::size_t gene, Step step) const;
  /// `kept`: by gene; empty stands for none.
  std::optional<Point> complete(const Point& wish, const std::vector<bool>& kept, Rng& rng) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evo
