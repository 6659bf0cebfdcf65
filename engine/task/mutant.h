#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/expression/expression.h"
#include "engine/task/evaluation.h"
#include "engine/task/task.h"

namespace evo {

/// A change of one template file: `find` occurs in it exactly once.
struct TextEdit {
  std::string file;  ///< Path in the tree.
  std::string find;
  std::string replace;
};

/// A kernel whose verdict is known beforehand: an honest control, or a mutant with a planted fault. What judges
/// candidates is itself judged by them (docs/trust.md).
struct Mutant {
  std::string name;
  std::string about;  ///< What is wrong with it.
  std::string family;
  Bindings genes;                 ///< Wished for; the nearest legal genome is taken.
  std::vector<std::string> kept;  ///< Genes without whose wished alleles it is not the mutant that is meant.
  std::vector<TextEdit> edits;
  /// The verdicts that are right, by device kind. A kind that is missing cannot show the fault.
  std::map<std::string, std::vector<Verdict>, std::less<>> expected;
  std::string says;  ///< Part of the reason that must be given; empty: any.
};

/// What TASK/mutants/FAMILY.json describe, controls first within each family. Throws usage_error that names the file,
/// the key and the reason; among these an edit that does not fit its file any more.
std::vector<Mutant> load_mutants(const SourceTree& tree, const Task& task);

/// The tree with the edits made.
SourceTree edited(const SourceTree& tree, const std::vector<TextEdit>& edits);

/// Whether a file of the tree belongs to a task's mutants: such files say nothing about what is computed or how, so
/// they are no part of the task's hash.
bool is_mutant_file(std::string_view path, std::string_view task);

}  // namespace evo
