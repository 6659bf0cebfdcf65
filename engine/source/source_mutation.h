#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// One small change of a CUDA source that most often makes a kernel wrong: mutation testing (DeMillo, Lipton, Sayward:
/// "Hints on test data selection", 1978), applied to the validation instead of to tests.
struct SourceMutation {
  std::string operation;  ///< "drop a barrier", "< becomes <=".
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string replacement;
  int line = 1;  ///< Of the source, from 1.
};

/// Every place where an operator applies, in the order of the source. Comments, strings, preprocessor lines, template
/// parameter lists and declarations of functions are left alone.
std::vector<SourceMutation> source_mutations(std::string_view source);

/// The source with the mutation.
std::string mutated(std::string_view source, const SourceMutation& mutation);

}  // namespace evo
