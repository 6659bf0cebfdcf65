#pragma once

#include <string>
#include <string_view>

#include "engine/base/source_tree.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/task.h"

namespace evo {

/// A text that a proposer brings: an allele of a slot, or a kernel with its launch plan. Either is a template
/// file, or two, beside the task's.
struct ProposedFiles {
  SourceTree files;
  Genome genome;  ///< Of a kernel: of the family that the files are, which has no genes.
};

/// TASK/FAMILY/GENE/ALLELE.cu. Throws usage_error when the name is none or the text is too long.
SourceTree allele_files(const std::string& task, const std::string& family, const std::string& gene,
                        const std::string& allele, const std::string& text);

/// A family of its own, named after its content: TASK/source_HASH/kernel.cu with `plan`, a JSON object, as
/// family.json (docs/templates.md), which has no genes. Throws usage_error for what is no object, or too
/// long.
ProposedFiles source_files(const std::string& task, const std::string& source, std::string_view plan);

/// The alleles and kernels that proposers have brought into a run, and the candidates that have them. They
/// are no part of the run's space: its strategy neither knows nor learns of them.
class ProposedTemplates {
 public:
  /// `tree`: the task's files. `facts`: of the device.
  ProposedTemplates(SourceTree tree, Task task, Target target, Bindings facts);

  /// Takes up the files of a genome: from here on it can be built, and other genomes may have its alleles.
  /// Throws usage_error, in one line, when they would replace others or are of a gene that is no slot, the
  /// genome does not have what they bring, it is illegal, its plan is malformed, or its source cannot be
  /// rendered or reads files of this machine.
  void admit(const Genome& genome, const SourceTree& files);
  /// Those of a run that is resumed.
  void restore(const SourceTree& files) { admitted_.insert(files.begin(), files.end()); }

  /// The files that a genome has beside the task's. Empty: it has none, and is the space's affair.
  SourceTree files_of(const Genome& genome) const;

  /// A genome that has been admitted.
  Candidate build(const Genome& genome) const;

 private:
  Candidate build(const Genome& genome, const SourceTree& files) const;

  SourceTree tree_;
  Task task_;
  Target target_;
  Bindings facts_;
  SourceTree admitted_;
};

}  // namespace evo
