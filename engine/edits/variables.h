#pragma once

#include <string>
#include <vector>

#include "engine/edits/statements.h"

namespace evo {

/// A variable of a function, as far as its declaration can be read.
struct Variable {
  std::string type;  ///< "float", "const float*", "int[]".
  std::string name;
  std::size_t declared = 0;  ///< Where its name stands.
  TextRange scope;
};

/// The parameters and variables of a function.
std::vector<Variable> variables_of(const std::string& code, const FunctionText& function);

/// The one that a name means at a place; null: none.
const Variable* variable_at(const std::vector<Variable>& variables, std::string_view name, std::size_t place);

/// A name or a number of a code, with its place.
struct Word {
  TextRange range;
  std::string_view text;
};

/// The names and numbers of a part of a code that stand alone: none is part of a template hole.
std::vector<Word> words_of(const std::string& code, TextRange range);

}  // namespace evo
