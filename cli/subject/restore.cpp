#include "cli/subject/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/subject/lookup.h"
#include "cli/text/suggest.h"
#include "engine/task/plan_resolution.h"
#include "population/results/import.h"

namespace evo::cli {
namespace {

/// Each shape of the target once, in the order timed, validated.
std::vector<Shape> shapes_of(const Target& target) {
  std::vector<Shape> shapes = target.timed;
  for (const Shape& shape : target.validated) {
    const auto same = [&](const Shape& known) { return known.name == shape.name; };
    if (std::none_of(shapes.begin(), shapes.end(), same)) shapes.push_back(shape);
  }
  return shapes;
}

bool belongs(const Shape& shape, const Bindings& specialisation) {
  return std::all_of(specialisation.begin(), specialisation.end(), [&](const auto& constant) {
    const auto parameter = shape.parameters.find(constant.first);
    return parameter != shape.parameters.end() && parameter->second == constant.second;
  });
}

std::vector<Shape> shapes_of(const Target& target, const Bindings& specialisation) {
  std::vector<Shape> shapes = shapes_of(target);
  std::erase_if(shapes, [&](const Shape& shape) { return !belongs(shape, specialisation); });
  return shapes;
}

}  // namespace

Family find_family(const SourceTree& tree, const Task& task, const std::string& name) {
  std::vector<std::string> names;
  for (Family& family : load_families(tree, task)) {
    if (family.name == name) return std::move(family);
    names.push_back(family.name);
  }
  throw unknown_name("family", name, names, fmt::format("of task {}", task.name));
}

SourceTree files_of(const Store& store, const RunRow& run) {
  SourceTree files = store.task_files(run.info.task_hash);
  if (run.info.strategy != kImported) return files;
  throw usage_error(
      fmt::format("run {} was imported without sources: its results can be read and searched from, its candidates not "
                  "run (docs/store.md)",
                  run.id));
}

Restored restore(const Store& store, CandidateId id) {
  Restored restored;
  restored.row = find_candidate(store, id);
  restored.run = find_run(store, restored.row.run);
  restored.files = files_of(store, restored.run);
  restored.task = load_task(restored.files, restored.run.info.task);
  restored.files.insert(restored.row.files.begin(), restored.row.files.end());
  restored.family = find_family(restored.files, restored.task, restored.row.genome.family);
  return restored;
}

std::vector<Program> stored_programs(const CandidateRow& row) {
  std::vector<Program> programs;
  for (const StoredProgram& stored : row.programs) {
    Program program;
    program.specialisation = stored.specialisation;
    program.source = stored.source;
    program.source_hash = stored.source_hash;
    program.max_registers = stored.max_registers;
    programs.push_back(std::move(program));
  }
  return programs;
}

Candidate with_plans(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                     std::vector<Program> programs, const Target& target, const Bindings& facts) {
  for (Program& program : programs) {
    program.lines = lines_of(tree, task, family, genome, target.options, program, facts);
    for (const Shape& shape : shapes_of(target, program.specialisation)) {
      program.plans[shape.name] = resolve_plan(task, family, genome, target.options, shape, facts);
    }
  }
  return {genome, std::move(programs)};
}

Candidate restored_candidate(const Restored& one, const Target& target) {
  return with_plans(one.files, one.task, one.family, one.row.genome, stored_programs(one.row), target,
                    one.run.info.device.facts);
}

std::vector<Program> references_of(const SourceTree& tree, const Task& task, const Target& target,
                                   const std::vector<Program>& programs) {
  std::vector<Program> references;
  if (has_torch_reference(task)) return references;
  for (const Program& program : programs) {
    references.push_back(reference_program(tree, task, target.options, program.specialisation,
                                           shapes_of(target, program.specialisation)));
  }
  return references;
}

}  // namespace evo::cli
