#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/source/template.h"
#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "engine/task/plan.h"
#include "engine/task/target.h"
#include "engine/task/task.h"

namespace evo {

/// One kernel source of a candidate: complete CUDA C++ for one specialisation ({D: 64}).
struct Program {
  Bindings specialisation;
  std::string source;
  std::string source_hash;            ///< xxh3 of source and register cap, hex.
  int max_registers = 0;              ///< 0: no cap.
  std::map<std::string, Plan> plans;  ///< By shape name: every shape of this specialisation that the run uses.
  LineMap lines = {};                 ///< Where the lines of `source` come from; empty: unknown.
};

/// A genome with everything needed to build and launch it.
struct Candidate {
  Genome genome;
  std::vector<Program> programs;
  SourceTree files = {};  ///< Templates that it needs in addition to its task's: those that a proposer brought.

  /// Of all programs and their plans together: candidates of one hash do the same work. (Genes may change
  /// grids and scalars alone, so equal sources are not enough.)
  std::string source_hash() const;
  /// Of the plans alone: candidates of equal cubins do the same work when this is equal too.
  std::string plans_hash() const;
};

/// The candidate's program that has a plan for the shape, by its place; empty when none has.
std::optional<std::size_t> program_for(const Candidate& candidate, const std::string& shape);

/// Renders the sources and resolves the plans. Throws usage_error naming template file and line.
Candidate make_candidate(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                         const Target& target, const Bindings& facts);

/// The kernels that the plans launch, each once.
std::vector<std::string> kernels_of(const Program& program);

/// The variables that the plans fill, each once.
std::vector<std::string> variables_of(const Program& program);

/// Where the lines of a program's source come from, unless the templates have changed since it was made: then empty.
LineMap lines_of(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                 const Bindings& options, const Program& program, const Bindings& facts);

/// One specialisation's source alone.
Rendered render_source(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                       const Bindings& options, const Bindings& specialisation, const Bindings& facts);

/// The reference as a program and plans: the oracle in f32/f64 whose outputs are all f32 ("o" etc. are
/// float*).
Program reference_program(const SourceTree& tree, const Task& task, const Bindings& options,
                          const Bindings& specialisation, const std::vector<Shape>& shapes);

}  // namespace evo
