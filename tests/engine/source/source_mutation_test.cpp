#include "engine/source/source_mutation.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using namespace evo;

namespace {

/// What each mutation named `operation` makes of the source.
std::vector<std::string> made_by(const std::string& operation, const std::string& source) {
  std::vector<std::string> made;
  for (const SourceMutation& mutation : source_mutations(source))
    if (mutation.operation == operation) made.push_back(mutated(source, mutation));
  return made;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a mutation of max or min names a function of the same type") {
  CHECK(made_by("max becomes min", "x = fmaxf(a, max(b, fmax(c, d)));") == Texts{"x = fminf(a, max(b, fmax(c, d)));",
                                                                                 "x = fmaxf(a, min(b, fmax(c, d)));",
                                                                                 "x = fmaxf(a, max(b, fmin(c, d)));"});
  CHECK(made_by("min becomes max", "x = fminf(a, b);") == Texts{"x = fmaxf(a, b);"});
  CHECK(made_by("max becomes min", "x = row_max(a);").empty());
}

TEST_CASE("a constant is made larger with its suffix and exponent; zero stays as it is") {
  CHECK(made_by("a constant is 1 % larger", "x = 2.5f; y = 1.5; z = 1e3f; w = 3.0e-5f; v = 0.0f; u = 0.00;") ==
        Texts{"x = (1.01f * 2.5f); y = 1.5; z = 1e3f; w = 3.0e-5f; v = 0.0f; u = 0.00;",
              "x = 2.5f; y = (1.01f * 1.5); z = 1e3f; w = 3.0e-5f; v = 0.0f; u = 0.00;",
              "x = 2.5f; y = 1.5; z = 1e3f; w = (1.01f * 3.0e-5f); v = 0.0f; u = 0.00;"});
}

TEST_CASE("comments, texts and preprocessor lines are not mutated, and lines are counted") {
  const std::string source = "#define LIMIT 1.5f\n// max(a, b)\nconst char* text = \"max(1.5f)\";\nx = max(a, b);\n";
  const std::vector<SourceMutation> mutations = source_mutations(source);
  REQUIRE(mutations.size() == 1);
  CHECK(mutations[0].operation == "max becomes min");
  CHECK(mutations[0].line == 4);
}
