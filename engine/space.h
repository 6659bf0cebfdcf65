#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/family.h"
#include "engine/genome.h"
#include "engine/rng.h"

namespace evo {

/// The legal genomes of a task's families under fixed device facts, options and specialisations. Kept as one decision
/// diagram per family: levels are genes, nodes merge partial genomes whose remaining constraints are the same, so
/// counting is exact and sampling uniform without listing the product.
class Space {
 public:
  /// `facts`: device facts and task options. `specialisations`: one set of values of task.specialised for each
  /// kernel a candidate must provide; a genome is legal only if every constraint holds under each of them.
  /// Families whose requirement does not hold are left out. Throws usage_error when nothing is left, with the reason.
  Space(std::vector<Family> families, const Bindings& facts, std::vector<Bindings> specialisations);
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

  Genome sample(Rng& rng) const;
  Genome sample(Rng& rng, std::string_view family) const;

  /// Why a genome is illegal (unknown gene or allele, a gene missing or inactive, a broken constraint); empty if legal.
  std::optional<std::string> why_illegal(const Genome& genome) const;
  bool contains(const Genome& genome) const { return !why_illegal(genome); }

  /// Legal genomes that differ in one gene (and in genes that become active by it, which take their allele from `genome`
  /// if it has one, else each legal allele in turn, bounded). `adjacent_only`: numbers step to the value beside.
  enum class Step { adjacent, any };
  std::vector<Genome> neighbours(const Genome& genome, Step step) const;

  /// The legal genome nearest to `wish`: alleles of `wish` kept in gene order wherever a legal completion exists, drawn
  /// uniformly from the legal ones elsewhere. The basis of mutation and crossover: offspring are legal by construction.
  Genome complete(const Genome& wish, Rng& rng) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evo
