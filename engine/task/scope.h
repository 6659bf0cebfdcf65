#pragma once

#include <string>

#include "engine/expression/expression.h"
#include "engine/task/family.h"
#include "engine/task/genome.h"

namespace evo {

/// All of them together; where some share a name, the first of these counts.
Bindings joined(const Bindings& a, const Bindings& b, const Bindings& c = {});

/// What a family's expressions and templates see for a complete genome: `known` (device facts, options,
/// parameters), every gene (inactive ones as their first allele) and every derived value that follows from
/// these.
Bindings scope_of(const Family& family, const Genome& genome, const Bindings& known);

/// What an error says; of an unknown name that is a derived value, why it has no value in this scope.
std::string explained(const std::string& error, const Family& family, const Bindings& scope);

}  // namespace evo
