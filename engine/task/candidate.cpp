#include "engine/task/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/task/error_context.h"
#include "engine/task/scope.h"
#include "engine/task/template.h"

namespace evo {
namespace {

Bindings specialisation_of(const Task& task, const Shape& shape) {
  Bindings values;
  for (const std::string& parameter : task.specialised) values[parameter] = shape.parameters.at(parameter);
  return values;
}

Bindings joined(const Bindings& a, const Bindings& b, const Bindings& c = {}) {
  Bindings all = a;
  all.insert(b.begin(), b.end());
  all.insert(c.begin(), c.end());
  return all;
}

Bindings chosen_options(const Task& task, const Bindings& wanted) {
  Bindings options = task.default_options();
  for (const auto& [name, value] : wanted) {
    const auto option =
        std::find_if(task.options.begin(), task.options.end(), [&](const Option& o) { return o.name == name; });
    std::vector<std::string> known;
    if (option == task.options.end()) {
      for (const auto& [other, ignored] : options) known.push_back(other);
      throw usage_error(fmt::format("task {} has no option '{}'; there are {}", task.name, name, list_of(known)));
    }
    if (std::find(option->values.begin(), option->values.end(), value) == option->values.end()) {
      for (const Value& allowed : option->values) known.push_back(expr::to_string(allowed));
      throw usage_error(
          fmt::format("option {} cannot be '{}'; there are {}", name, expr::to_string(value), list_of(known)));
    }
    options[name] = value;
  }
  return options;
}

void add_once(std::vector<Shape>& shapes, Shape shape) {
  const auto same = [&](const Shape& other) { return other.name == shape.name; };
  if (std::none_of(shapes.begin(), shapes.end(), same)) shapes.push_back(std::move(shape));
}

std::vector<Shape> used_shapes(const Task& task, const Target& target, const Bindings& specialisation) {
  std::vector<Shape> shapes;
  for (const auto* list : {&target.timed, &target.validated}) {
    for (const Shape& shape : *list) {
      if (specialisation_of(task, shape) == specialisation) add_once(shapes, shape);
    }
  }
  return shapes;
}

std::string hash_of_source(const std::string& source, int max_registers) {
  return Hasher().add(source).add(std::to_string(max_registers)).hex();
}

// Every number and name of a plan in a fixed order.
std::string text_of(const Plan& plan) {
  std::string text;
  for (const PlanTensor& t : plan.tensors) text += fmt::format("t {} {} {}\n", t.name, name_of(t.dtype), t.bytes);
  for (const Workspace& w : plan.workspaces) text += fmt::format("w {} {}\n", w.bytes, w.zeroed);
  for (const TensorMap& m : plan.tensor_maps) {
    text +=
        fmt::format("m {} {} {} {} {} {} {}\n", static_cast<int>(m.source.kind), m.source.index, name_of(m.dtype),
                    fmt::join(m.dims, ","), fmt::join(m.strides_bytes, ","), fmt::join(m.box, ","), m.swizzle_bytes);
  }
  for (const Launch& l : plan.launches) {
    text += fmt::format("l {} {} {} {} {} {}", l.kernel, fmt::join(l.grid, ","), fmt::join(l.block, ","),
                        fmt::join(l.cluster, ","), l.dynamic_smem_bytes, l.programmatic);
    for (const Argument& a : l.arguments) text += fmt::format(" {}:{}:{}", static_cast<int>(a.kind), a.index, a.value);
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

const Limits& limits_of(const Task& task, const Target& target) {
  return task.objective(target.objective).limits;
}

Target make_target(const Task& task, std::string_view device_kind, const std::vector<std::string>& shapes,
                   const Bindings& options, std::string_view objective) {
  Target target;
  target.options = chosen_options(task, options);
  target.objective = objective.empty() ? task.objectives.front().name : task.objective(objective).name;
  const auto set = task.shape_sets.find(std::string(device_kind));
  const bool has_set = set != task.shape_sets.end();
  if (shapes.empty() && !has_set) {
    throw usage_error(
        fmt::format("task {} has no shapes for {} devices; name some of its shapes", task.name, device_kind));
  }
  for (const std::string& text : shapes.empty() ? set->second.timed : shapes)
    add_once(target.timed, parse_shape(task, text));

  add_default_validation(task, device_kind, target);
  for (const Shape& shape : target.timed) add_once(target.validated, shape);
  return target;
}

void add_default_validation(const Task& task, std::string_view device_kind, Target& target) {
  const auto set = task.shape_sets.find(std::string(device_kind));
  if (set == task.shape_sets.end()) return;
  const std::vector<Bindings> specialisations = specialisations_of(task, target);
  for (const std::string& name : set->second.validated) {
    const Shape& shape = task.shape(name);
    const bool wanted = std::ranges::find(specialisations, specialisation_of(task, shape)) != specialisations.end();
    if (wanted) add_once(target.validated, shape);
  }
}

std::vector<Bindings> specialisations_of(const Task& task, const Target& target) {
  std::vector<Bindings> distinct;
  for (const Shape& shape : target.timed) {
    Bindings values = specialisation_of(task, shape);
    if (std::find(distinct.begin(), distinct.end(), values) == distinct.end()) distinct.push_back(std::move(values));
  }
  return distinct;
}

std::string render_source(const SourceTree& tree, const Task&, const Family& family, const Genome& genome,
                          const Bindings& options, const Bindings& specialisation, const Bindings& facts) {
  const Bindings scope = scope_of(family, genome, joined(facts, options, specialisation));
  try {
    return render_template(tree, family.kernel_path, scope);
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
    program.source = render_source(tree, task, family, genome, target.options, specialisation, facts);
    program.max_registers =
        register_cap(family, scope_of(family, genome, joined(facts, target.options, specialisation)));
    program.source_hash = hash_of_source(program.source, program.max_registers);
    for (const Shape& shape : used_shapes(task, target, specialisation)) {
      program.plans[shape.name] = resolve_plan(task, family, genome, target.options, shape, facts);
    }
    candidate.programs.push_back(std::move(program));
  }
  return candidate;
}

Program reference_program(const SourceTree& tree, const Task& task, const Bindings& options,
                          const Bindings& specialisation, const std::vector<Shape>& shapes) {
  Program program;
  program.specialisation = specialisation;
  program.source = render_template(tree, task.reference, joined(options, specialisation));
  program.source_hash = hash_of_source(program.source, 0);
  for (const Shape& shape : shapes) program.plans[shape.name] = reference_plan(task, options, shape);
  return program;
}

}  // namespace evo
