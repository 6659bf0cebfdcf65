#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/expression/expression.h"

namespace evo {

/// A constraint and the author's place of it.
struct OwnConstraint {
  std::string author;
  Expression that;
};

struct ListedGene {
  std::string name;
  std::optional<std::vector<Value>> values;
};

/// The first legal genome in the order of the values, by those constraints that genes and `known` alone decide. Throws
/// usage_error "FILE: PLACE: reason" if there is none, naming the constraint that excludes every genome where one
/// alone does.
Bindings first_genome(const std::string& file, const std::vector<ListedGene>& genes,
                      const std::vector<OwnConstraint>& constraints, const Bindings& known);

}  // namespace evo
