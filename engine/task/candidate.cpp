#include "engine/task/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/task/error_context.h"
#include "engine/task/plan_resolution.h"
#include "engine/task/scope.h"

namespace evo {
namespace {

// An int is its number alone: hashes of plans that have been recorded stay as they were.
std::string fields_text(const std::vector<Scalar>& fields) {
  if (fields.empty()) return "0";
  if (fields.size() == 1 && fields[0].type == ValueType{DType::s32, 1}) return text_of(fields[0].components[0]);
  std::string text;
  for (const Scalar& field : fields) {
    text += field.type.name();
    for (const Number component : field.components) text += "," + text_of(component);
    text += ";";
  }
  return text;
}

// Every number and name of a plan in a fixed order.
std::string text_of(const Plan& plan) {
  std::string text;
  for (const PlanTensor& t : plan.tensors) {
    text += fmt::format("t {} {} {}", t.name, name_of(t.dtype), t.bytes);
    if (!t.strides.empty()) text += fmt::format(" {} {}", fmt::join(t.dims, ","), fmt::join(t.strides, ","));
    text += t.inout ? " inout\n" : "\n";
  }
  for (const Workspace& w : plan.workspaces) text += fmt::format("w {} {}\n", w.bytes, w.zeroed);
  for (const TensorMap& m : plan.tensor_maps) {
    text +=
        fmt::format("m {} {} {} {} {} {} {}\n", static_cast<int>(m.source.kind), m.source.index, name_of(m.dtype),
                    fmt::join(m.dims, ","), fmt::join(m.strides_bytes, ","), fmt::join(m.box, ","), m.swizzle_bytes);
  }
  for (const Constant& c : plan.constants)
    text += fmt::format("c {} {} {} {}\n", c.symbol, static_cast<int>(c.source.kind), c.source.index,
                        fields_text(c.source.fields));
  for (const Launch& l : plan.launches) {
    text += fmt::format("l {} {} {} {} {} {}", l.kernel, fmt::join(l.grid, ","), fmt::join(l.block, ","),
                        fmt::join(l.cluster, ","), l.dynamic_smem_bytes, l.programmatic);
    for (const Argument& a : l.arguments)
      text += fmt::format(" {}:{}:{}", static_cast<int>(a.kind), a.index, fields_text(a.fields));
    text += "\n";
  }
  return text;
}

int register_cap(const Family& family, const Bindings& scope) {
  return within(family, scope, "max_registers", [&] {
    const std::int64_t cap = family.max_registers.evaluate_int(scope);
    // 255 is the most a thread can address on every architecture so far (CUDA C++ programming guide, compute
    // capabilities).
    if (cap < 0 || cap > 255)
      throw usage_error(fmt::format("'{}' is {}: must be 0 (none) to 255", family.max_registers.text(), cap));
    return static_cast<int>(cap);
  });
}

}  // namespace

std::vector<std::string> kernels_of(const Program& program) {
  std::set<std::string> kernels;
  for (const auto& [shape, plan] : program.plans)
    for (const Launch& launch : plan.launches) kernels.insert(launch.kernel);
  return {kernels.begin(), kernels.end()};
}

std::vector<std::string> variables_of(const Program& program) {
  std::set<std::string> variables;
  for (const auto& [shape, plan] : program.plans)
    for (const Constant& constant : plan.constants) variables.insert(constant.symbol);
  return {variables.begin(), variables.end()};
}

LineMap lines_of(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                 const Bindings& options, const Program& program, const Bindings& facts) {
  try {
    Rendered rendered = render_source(tree, task, family, genome, options, program.specialisation, facts);
    if (rendered.text == program.source) return std::move(rendered.lines);
  } catch (const Error&) {
    // The templates no longer have what the genome names.
  }
  return {};
}

std::string Candidate::source_hash() const {
  Hasher hasher;
  for (const Program& program : programs) hasher.add(program.source_hash);
  return hasher.add(plans_hash()).hex();
}

std::string Candidate::plans_hash() const {
  Hasher hasher;
  for (const Program& program : programs) {
    for (const auto& [shape, plan] : program.plans) hasher.add(shape).add(text_of(plan));
  }
  return hasher.hex();
}

std::optional<std::size_t> program_for(const Candidate& candidate, const std::string& shape) {
  const auto found =
      std::ranges::find_if(candidate.programs, [&](const Program& program) { return program.plans.contains(shape); });
  if (found == candidate.programs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - candidate.programs.begin());
}

Rendered render_source(const SourceTree& tree, const Task&, const Family& family, const Genome& genome,
                       const Bindings& options, const Bindings& specialisation, const Bindings& facts) {
  const Bindings scope = scope_of(family, genome, joined(facts, options, specialisation));
  try {
    return render_with_lines(tree, family.kernel_path, scope);
  } catch (const Error& error) {
    throw usage_error(explained(error.what(), family, scope));
  }
}

Candidate make_candidate(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                         const Target& target, const Bindings& facts) {
  Candidate candidate{genome, {}};
  for (const Bindings& specialisation : specialisations_of(task, target)) {
    Program program;
    program.specialisation = specialisation;
    Rendered rendered = render_source(tree, task, family, genome, target.options, specialisation, facts);
    program.source = std::move(rendered.text);
    program.lines = std::move(rendered.lines);
    program.max_registers =
        register_cap(family, scope_of(family, genome, joined(facts, target.options, specialisation)));
    program.source_hash = hash_of_source(program.source, program.max_registers);
    for (const Shape& shape : shapes_of(task, target, specialisation)) {
      program.plans[shape.name] = resolve_plan(task, family, genome, target.options, shape, facts);
    }
    candidate.programs.push_back(std::move(program));
  }
  return candidate;
}

Program reference_program(const SourceTree& tree, const Task& task, const Bindings& options,
                          const Bindings& specialisation, const std::vector<Shape>& shapes) {
  if (has_torch_reference(task)) {
    throw usage_error(
        fmt::format("the reference of task {} is a program of torch ({}): there is no kernel of it to put into a file "
                    "or to run here",
                    task.name, task.reference));
  }
  Program program;
  program.specialisation = specialisation;
  Rendered rendered = render_with_lines(tree, task.reference, joined(options, specialisation));
  program.source = std::move(rendered.text);
  program.lines = std::move(rendered.lines);
  program.source_hash = hash_of_source(program.source, 0);
  for (const Shape& shape : shapes) program.plans[shape.name] = reference_plan(task, options, shape);
  return program;
}

}  // namespace evo
