#include "engine/task/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/abilities.h"
#include "engine/device/launch_rules.h"
#include "engine/expression/json_place.h"
#include "engine/expression/name_scope.h"

namespace evo {
namespace {

std::vector<std::string> fact_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : facts_of(DeviceLimits{})) names.push_back(name);
  return names;
}

/// Reads one family.json; each function fills one part and may rely on those before it.
class FamilyLoader {
 public:
  FamilyLoader(const SourceTree& tree, const Task& task, const std::string& name)
      : tree_(tree),
        task_(task),
        folder_(task.name + "/" + name),
        root_(JsonPlace::read(tree, folder_ + "/family.json")) {
    family_.task = task.name;
    family_.name = name;
    family_.kernel_path = folder_ + "/kernel.cu";
    if (!tree.contains(family_.kernel_path)) root_.fail(fmt::format("{} is missing", family_.kernel_path));
  }

  Family load() {
    root_.allow_only({"summary", "requires", "genes", "derived", "constraints", "workspaces", "tensor_maps",
                      "max_registers", "constants", "launches"});
    if (const auto summary = root_.find("summary")) family_.summary = summary->text();
    const NameScope facts(fact_names());
    program_scope_ = facts;
    for (const Option& option : task_.options) program_scope_.add(option.name);
    NameScope contract = program_scope_;
    contract.add(task_.shape_parameters);
    family_.legal = contract.read(root_, "requires", true);
    for (const Option& option : task_.options) shape_scope_.add(option.name);
    shape_scope_.add(task_.shape_parameters);
    genes();
    for (const std::string& parameter : task_.specialised) program_scope_.add(parameter);
    plan_scope_ = program_scope_;
    plan_scope_.add(task_.shape_parameters);
    derived();
    constraints();
    family_.max_registers = program_scope_.read(root_, "max_registers", std::int64_t{0});
    workspaces();
    tensor_maps();
    family_.constants = read_constants(root_, task_, plan_scope_);
    launches();
    return std::move(family_);
  }

 private:
  std::vector<JsonPlace> optional_items(std::string_view key) const {
    const auto found = root_.find(key);
    return found ? found->items() : std::vector<JsonPlace>{};
  }

  // Declares a name that nothing else of task or family has.
  void declare(const JsonPlace& place, const std::string& name, NameScope& scope) const {
    const auto& parameters = task_.shape_parameters;
    const bool taken = task_.tensor(name) || std::find(parameters.begin(), parameters.end(), name) != parameters.end();
    if (taken) place.fail(fmt::format("the name '{}' is already taken by the task", name));
    scope.declare(place, name);
  }

  // --- genes

  void genes() {
    for (const JsonPlace& place : root_.at("genes").items()) {
      place.allow_only(gene_keys());
      Gene gene;
      gene.name = place.at("name").text();
      gene.when = program_scope_.read(place, "when", true);
      declare(place.at("name"), gene.name, program_scope_);
      if (const auto doc = place.find("doc")) gene.doc = doc->text();
      read_alleles(place, tree_, folder_ + "/", gene);
      family_.genes.push_back(std::move(gene));
    }
  }

  // --- derived values and constraints

  void derived() {
    for (const JsonPlace& place : optional_items("derived")) {
      place.allow_only({"name", "value", "doc"});
      Derived derived;
      derived.name = place.at("name").text();
      derived.value = plan_scope_.read(place, "value");
      declare(place.at("name"), derived.name, plan_scope_);
      const std::string runtime = runtime_parameter(derived.value);
      if (runtime.empty()) {
        program_scope_.add(derived.name);
      } else {
        runtime_derived_[derived.name] = runtime;
      }
      family_.derived.push_back(std::move(derived));
    }
  }

  // The first parameter that only a launch knows, read directly or through derived values; empty if none.
  std::string runtime_parameter(const Expression& expression) const {
    for (const std::string& name : expression.names()) {
      if (const auto found = runtime_derived_.find(name); found != runtime_derived_.end()) return found->second;
      if (!program_scope_.has(name)) return name;
    }
    return {};
  }

  std::vector<std::string> objective_names(const JsonPlace& list) const {
    std::vector<std::string> names;
    for (const JsonPlace& place : list.items()) {
      names.push_back(place.text());
      require_known(place, "objective", names.back(), names_of(task_.objectives));
    }
    return names;
  }

  void constraints() {
    for (const JsonPlace& place : optional_items("constraints")) {
      place.allow_only({"that", "why", "objectives", "shapes"});
      const JsonPlace that = place.at("that");
      Constraint constraint{that.expression(), {}};
      plan_scope_.check(that, constraint.condition);
      if (const std::string runtime = runtime_parameter(constraint.condition); !runtime.empty()) {
        that.fail(
            fmt::format("'{}' depends on {}, which is not known before launch: constraints see genes, facts, "
                        "options and specialised parameters",
                        constraint.condition.text(), runtime));
      }
      if (const auto why = place.find("why")) constraint.why = why->text();
      if (const auto objectives = place.find("objectives")) constraint.objectives = objective_names(*objectives);
      constraint.shapes = shape_scope_.read(place, "shapes", true);
      family_.constraints.push_back(std::move(constraint));
    }
  }

  // --- the plan

  void workspaces() {
    for (const JsonPlace& place : optional_items("workspaces")) {
      place.allow_only({"name", "when", "bytes", "zeroed"});
      WorkspaceSpec workspace;
      workspace.name = place.at("name").text();
      declare(place.at("name"), workspace.name, buffers_);
      if (plan_scope_.has(workspace.name))
        place.at("name").fail(fmt::format("the name '{}' is already taken", workspace.name));
      workspace.when = plan_scope_.read(place, "when", true);
      workspace.bytes = plan_scope_.read(place, "bytes");
      workspace.zeroed = plan_scope_.read(place, "zeroed", false);
      family_.workspaces.push_back(std::move(workspace));
    }
  }

  void tensor_maps() {
    for (const JsonPlace& place : optional_items("tensor_maps")) {
      place.allow_only({"name", "source", "dtype", "when", "dims", "strides_bytes", "box", "swizzle_bytes"});
      TensorMapSpec map;
      map.name = place.at("name").text();
      map.source = place.at("source").text();
      if (!task_.tensor(map.source) && !buffers_.has(map.source)) {
        place.at("source").fail(fmt::format("'{}' is neither a tensor nor a workspace", map.source));
      }
      map.dtype = place.at("dtype").text();
      check_dtype(place.at("dtype"), map.dtype);
      map.when = plan_scope_.read(place, "when", true);
      map.dims = plan_scope_.read_list(place, "dims");
      map.strides_bytes = plan_scope_.read_list(place, "strides_bytes");
      map.box = plan_scope_.read_list(place, "box");
      map.swizzle_bytes = plan_scope_.read(place, "swizzle_bytes", std::int64_t{0});
      check_rank(place, map);
      declare(place.at("name"), map.name, buffers_);
      family_.tensor_maps.push_back(std::move(map));
    }
  }

  void check_dtype(const JsonPlace& place, const std::string& dtype) const {
    const auto& options = task_.options;
    if (std::any_of(options.begin(), options.end(), [&](const Option& o) { return o.name == dtype; })) return;
    try {
      parse_dtype(dtype);
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }

  static void check_rank(const JsonPlace& place, const TensorMapSpec& map) {
    if (map.dims.empty() || map.dims.size() > 5) place.at("dims").fail("1 to 5 dimensions are needed");
    if (map.strides_bytes.size() + 1 != map.dims.size()) {
      place.at("strides_bytes").fail("one stride fewer than dims is needed: the innermost is the element");
    }
    if (map.box.size() != map.dims.size()) place.at("box").fail("as many extents as dims are needed");
  }

  void launches() {
    for (const JsonPlace& place : root_.at("launches").items()) {
      place.allow_only({"kernel", "when", "grid", "block", "cluster", "dynamic_smem", "programmatic", "arguments"});
      LaunchSpec launch;
      launch.kernel = place.at("kernel").text();
      launch.kernel_name = kernel_name(place.at("kernel"));
      launch.when = plan_scope_.read(place, "when", true);
      launch.grid = dims(place, "grid");
      launch.block = dims(place, "block");
      launch.cluster.fill(Expression::constant(std::int64_t{1}));
      if (place.find("cluster")) launch.cluster = dims(place, "cluster");
      launch.dynamic_smem_bytes = plan_scope_.read(place, "dynamic_smem", std::int64_t{0});
      launch.programmatic = plan_scope_.read(place, "programmatic", false);
      for (const JsonPlace& argument : place.at("arguments").items())
        launch.arguments.push_back(checked_argument(argument));
      family_.launches.push_back(std::move(launch));
    }
    if (family_.launches.empty()) root_.at("launches").fail("at least one launch is needed");
  }

  TextTemplate kernel_name(const JsonPlace& place) const {
    const TextTemplate name = place.read_as(TextTemplate::parse);
    bool fixed = true;
    for (const TextTemplate::Piece& piece : name.pieces()) {
      const auto* expression = std::get_if<Expression>(&piece);
      if (expression) program_scope_.check(place, *expression);
      fixed = fixed && !expression;
    }
    if (fixed && !is_kernel_name(place.text())) place.fail(fmt::format("'{}' is not a name", place.text()));
    return name;
  }

  std::array<Expression, 3> dims(const JsonPlace& place, std::string_view key) const {
    const std::vector<Expression> read = plan_scope_.read_list(place, key);
    if (read.size() != 3) place.at(key).fail("three dimensions are needed");
    return {read[0], read[1], read[2]};
  }

  ArgumentSpec checked_argument(const JsonPlace& place) const {
    ArgumentSpec argument = place.read_as(parse_argument);
    if (task_.tensor(argument.text) || buffers_.has(argument.text)) return argument;
    NameScope all = plan_scope_;
    for (const auto* tensors : {&task_.inputs, &task_.outputs}) {
      for (const Tensor& tensor : *tensors) all.add(tensor.name);  // for the suggestion
    }
    for (const FieldSpec& field : argument.fields) {
      for (const Expression& component : field.components) {
        all.check(place, component);
        plan_scope_.check(place, component);
      }
    }
    return argument;
  }

  const SourceTree& tree_;
  const Task& task_;
  std::string folder_;
  JsonPlace root_;
  NameScope shape_scope_;                               // what is known of a shape: its parameters, and options
  NameScope program_scope_;                             // what a compiled program may depend on
  NameScope plan_scope_;                                // what a launch may depend on: every shape parameter too
  NameScope buffers_;                                   // workspaces and tensor maps
  std::map<std::string, std::string> runtime_derived_;  // derived value -> the launch-time parameter it depends on
  Family family_;
};

}  // namespace

const Gene* Family::gene(std::string_view wanted) const {
  for (const Gene& gene : genes) {
    if (gene.name == wanted) return &gene;
  }
  return nullptr;
}

bool may_serve(const Family& family, const Bindings& known) {
  const auto decided = family.legal.evaluate_partially(known);
  return !decided || Expression::constant(*decided).evaluate_bool({});
}

std::vector<Family> load_families(const SourceTree& tree, const Task& task) {
  std::vector<Family> families;
  for (const auto& [path, content] : tree) {
    const std::vector<std::string> parts = split(path, '/');
    if (parts.size() == 3 && parts[0] == task.name && parts[2] == "family.json") {
      families.push_back(FamilyLoader(tree, task, parts[1]).load());
    }
  }
  return families;
}

Bindings facts_of(const DeviceLimits& limits) {
  Bindings facts{{"sm", std::int64_t{limits.sm}},
                 {"smem_per_block", limits.smem_per_block_bytes},
                 {"smem_per_sm", limits.smem_per_sm_bytes},
                 {"registers_per_sm", limits.registers_per_sm},
                 {"threads_per_block", std::int64_t{limits.threads_per_block}},
                 {"threads_per_sm", std::int64_t{launch_rules(limits.sm).threads_per_sm()}},
                 {"sm_count", std::int64_t{limits.sm_count}}};
  for (const Ability& ability : abilities()) facts.emplace(ability.name, ability.at(limits.sm));
  return facts;
}

}  // namespace evo
