#pragma once

#include <cstddef>
#include <set>
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

/// Whether a mutation of this operation differs from its original where a rounded value is a tie, and nowhere else.
bool shows_on_ties_alone(std::string_view operation);

/// The source with blanks in place of what is no code: comments, texts but those of asm, preprocessor lines.
std::string code_only(std::string_view source);

/// The same without dead code: functions, branches of the preprocessor and of `if constexpr` without a line among
/// `compiled`, the lines, from 1, that a compiler made instructions of. Functions that are constexpr stay, because
/// compilers run them.
std::string live_code(std::string_view source, const std::set<int>& compiled);

/// Every place of the code where an operator applies, in the order of the source.
std::vector<SourceMutation> source_mutations(std::string_view code);

/// Of these the ones that drop a barrier, a fence or a wait.
std::vector<SourceMutation> dropped_synchronisation(std::string_view code);

/// The source with the mutation.
std::string mutated(std::string_view source, const SourceMutation& mutation);

}  // namespace evo
