#pragma once

#include <string>
#include <string_view>

#include "engine/expression/expression.h"
#include "engine/record/record.h"
#include "engine/task/family.h"
#include "engine/task/point.h"

namespace evo {

/// One allele for each active gene of a family, in canonical form: inactive genes are absent, so that equal
/// programs have equal genomes.
struct Genome {
  std::string family;
  Bindings genes;

  friend bool operator==(const Genome&, const Genome&) = default;
};

EVO_RECORD(Genome, family, genes);

/// The alleles of a path of the family, without inactive genes.
Genome genome_of(const Family& family, const Path& path);

/// "mma_sync: cta_q=64 stages=2 ...", genes sorted by name. Unique among a task's genomes.
std::string to_text(const Genome& genome);
/// {"family": "...", "genes": {...}}: what is stored and exported.
std::string to_json(const Genome& genome);
/// Throws usage_error for malformed text; genes are checked against a family by Space::contains.
Genome genome_from_json(std::string_view json);

}  // namespace evo
