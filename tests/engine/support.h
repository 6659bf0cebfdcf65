#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/base/source_tree.h"
#include "engine/task/family.h"
#include "engine/task/genome.h"

namespace evo::test {

/// What the action complains about; empty when it does not.
template <typename Action>
std::string complaint_of(Action action) {
  try {
    action();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// A change of one place of a file, and the complaint that it leads to.
struct Mistake {
  std::string from, to, complaint;
};

inline Value number(std::int64_t value) {
  return value;
}
inline Expression parse(std::string_view text) {
  return Expression::parse(text);
}

/// A family without files: genes, derived values and constraints are all that a space looks at.
Gene gene(const std::string& name, std::vector<Value> alleles, std::string_view when = "true");
Family family(const std::string& name, std::vector<Gene> genes, const std::vector<std::string>& constraints,
              const std::vector<std::pair<std::string, std::string>>& derived = {});

/// Random text of the expression language over the names, all of which are numbers or booleans.
std::string random_expression(Rng& rng, const std::vector<std::string>& names, int depth);

/// The genomes of a family by trying every combination, with plain evaluation of every expression.
struct Enumeration {
  std::vector<Genome> legal;
  bool fails = false;  ///< A constraint has no value for some genome that no other constraint excludes.
};
Enumeration enumerate(const Family& family, const Bindings& facts, const std::vector<Bindings>& specialisations);

/// A complete small task: y = a * x over N x M floats, options and two specialisations, with one family
/// "plain".
SourceTree scale_task();

/// The tree with one place of one file replaced; the place must be there.
SourceTree edited(SourceTree tree, const std::string& file, const std::string& from, const std::string& to);

}  // namespace evo::test
