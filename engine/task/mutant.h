#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/base/text_edit.h"
#include "engine/expression/expression.h"
#include "engine/result/verdict.h"
#include "engine/task/task.h"

namespace evo {

/// A kernel whose verdict is known beforehand: an honest control, or a mutant with a planted fault. They check the
/// validation itself (docs/trust.md).
struct Mutant {
  std::string name;
  std::string about;  ///< Its fault.
  std::string family;
  Bindings genes;                 ///< A wish: the nearest legal genome is taken.
  std::vector<std::string> kept;  ///< Genes without whose wished alleles it is not the mutant that is meant.
  Bindings options;               ///< Of the task, where they are not the defaults.
  std::string objective;          ///< Of the task, whose limits it is held to; empty: the default.
  std::vector<TextEdit> edits;
  /// The verdicts that are right, by device kind. A kind that is missing cannot show the fault.
  std::map<std::string, std::vector<Verdict>, std::less<>> expected;
  std::vector<std::string> stages;  ///< Those of the task that a diagnosis may name; empty: it has no wrong stage.
  std::string says;                 ///< Part of the reason that must be given; empty: any.
};

/// Whether it is an honest kernel.
bool is_control(const Mutant& mutant);

/// What TASK/mutants/FAMILY.json describe, controls first within each family. Throws usage_error that names the file,
/// the key and the reason; among these an edit that does not fit its file any more.
std::vector<Mutant> load_mutants(const SourceTree& tree, const Task& task);

}  // namespace evo
