#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/base/text_edit.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/task.h"

namespace evo {

/// The template files of one proposal: one for a new allele of a slot, two for a kernel with its launch plan.
struct ProposedFiles {
  SourceTree files;
  Genome genome;  ///< For a kernel: of the family that its files make, which has no genes.
};

/// TASK/FAMILY/GENE/ALLELE.cu. Throws usage_error for a bad name or a text that is too long.
SourceTree allele_files(const std::string& task, const std::string& family, const std::string& gene,
                        const std::string& allele, const std::string& text);

/// A family of its own, named after its content: TASK/source_HASH/kernel.cu with `plan`, a JSON object, as
/// family.json (docs/templates.md), which has no genes. Throws usage_error for a plan that is not an object, and
/// for files that are too long.
ProposedFiles source_files(const std::string& task, const std::string& source, std::string_view plan);

/// A kernel of the task with edits, made in order, to files of the genome's family but family.json, named as they are
/// there, "kernel.cu", "store/vectored.cu", and to files that these include, named as in the tree, "include/mma.cuh",
/// of which it gets versions of its own. It becomes a family of its own, named after its content, with those files;
/// each gene keeps the genome's allele alone, so that the result has the genes of `genome`. Throws usage_error where
/// the genome's family is not in the tree, or an edit does not fit.
ProposedFiles patched_files(const SourceTree& tree, const std::string& task, const Genome& genome,
                            std::vector<TextEdit> edits);

/// The same with whole texts in the place of files, which are named as in the tree: "softmax/online/kernel.cu".
ProposedFiles replaced_files(const SourceTree& tree, const std::string& task, const Genome& genome,
                             const SourceTree& texts);

/// In a family's folder: the edits that made it of another one (engine/edits/source_edit.h). It is no part of a kernel.
inline constexpr const char* kEditsFile = "edits.json";
inline bool is_edit_list(std::string_view path) {
  return path.ends_with(std::string("/") + kEditsFile);
}

/// The alleles and kernels that proposers have added to a run, and the candidates that use them. They are not part of
/// the run's space: its strategy neither proposes them nor learns from them.
class ProposedTemplates {
 public:
  /// `tree`: the task's files. `facts`: of the device.
  ProposedTemplates(SourceTree tree, Task task, Target target, Bindings facts);

  /// Adds the files of a genome: from here on the genome can be built, and other genomes may use its alleles. Throws
  /// usage_error, in one line, when the files would replace others or belong to a gene that is not a slot; when the
  /// genome does not use them or is illegal; when its plan is malformed; when its source cannot be rendered or reads
  /// files of this machine; when it is nearly another's (engine/search/near_duplicate.h), which the message names.
  void admit(const Genome& genome, const SourceTree& files);
  /// Adds the files that a resumed run had.
  void restore(const SourceTree& files) { admitted_.insert(files.begin(), files.end()); }

  /// The task's files and all that were added.
  SourceTree all_files() const;

  /// The added files that a genome uses. Empty for a genome of the space.
  SourceTree files_of(const Genome& genome) const;

  /// A genome that has been admitted.
  Candidate build(const Genome& genome) const;

 private:
  Candidate build(const Genome& genome, const SourceTree& files) const;
  void refuse_near_duplicates(const SourceTree& files) const;

  SourceTree tree_;
  Task task_;
  Target target_;
  Bindings facts_;
  SourceTree admitted_;
};

}  // namespace evo
