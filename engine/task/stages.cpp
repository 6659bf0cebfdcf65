#include "engine/task/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "engine/expression/json_place.h"
#include "engine/source/template.h"
#include "engine/task/argument.h"

namespace evo {
namespace {

bool is_input(const Task& task, const std::string& name) {
  return std::ranges::find(task.inputs, name, &Tensor::name) != task.inputs.end();
}

/// Words as "rows matrices".
InputEdit read_edit(const std::string& input, const std::string& words, const JsonPlace& place) {
  InputEdit edit;
  edit.input = input;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (word == "zero")
      edit.zero = true;
    else if (word == "equal")
      edit.equal = true;
    else if (word == "rows")
      edit.rows = true;
    else if (word == "columns")
      edit.columns = true;
    else if (word == "matrices")
      edit.matrices = true;
    else if (word == "ramp")
      edit.ramp = true;
    else
      place.fail(fmt::format("'{}' is none of zero, equal, rows, columns, matrices, ramp", word));
  }
  return edit;
}

class StagesLoader {
 public:
  StagesLoader(const SourceTree& tree, const Task& task, const Bindings& options)
      : tree_(tree), task_(task), options_(options), root_(JsonPlace::read(tree, task.name + "/" + kStagesFile)) {}

  Stages load() {
    root_.allow_only({"stages", "isolations", "probes"});
    for (const JsonPlace& place : root_.at("stages").items()) {
      place.allow_only({"name", "about"});
      stages_.stages.push_back({place.at("name").text(), place.at("about").text()});
      if (!names_.insert(stages_.stages.back().name).second) place.at("name").fail("this stage is there twice");
    }
    for (const JsonPlace& place : root_.at("isolations").items()) stages_.isolations.push_back(isolation(place));
    if (const auto probes = root_.find("probes")) read_probes(*probes);
    return std::move(stages_);
  }

 private:
  void read_probes(const JsonPlace& place) {
    place.allow_only({"values", "kernels", "reference"});
    Task task = task_;
    task.outputs.clear();
    for (const JsonPlace& value : place.at("values").items()) {
      stages_.probes.push_back(probe(value));
      task.outputs.push_back(stages_.probes.back().tensor);
    }
    for (const auto& [family, kernel] : place.at("kernels").members()) stages_.probed[family] = kernel.text();
    const JsonPlace reference = place.at("reference");
    reference.allow_only({"kernel", "grid", "block", "arguments"});
    task.reference = task.name + "/stages.cu";
    if (!tree_.contains(task.reference)) reference.fail(task.reference + " is missing");
    task.reference_kernel = reference.at("kernel").text();
    dims(reference.at("grid"), task.reference_grid);
    dims(reference.at("block"), task.reference_block);
    task.reference_arguments.clear();
    for (const JsonPlace& argument : reference.at("arguments").items())
      task.reference_arguments.push_back(argument.read_as(parse_argument));
    stages_.probe_task = std::move(task);
  }

  Probe probe(const JsonPlace& place) const {
    place.allow_only({"name", "about", "dims", "stages", "tolerance", "negligible"});
    Probe probe;
    probe.tensor.name = place.at("name").text();
    probe.about = place.at("about").text();
    for (const JsonPlace& dim : place.at("dims").items()) probe.tensor.dims.push_back(dim.expression());
    for (const JsonPlace& stage : place.at("stages").items()) {
      probe.stages.push_back(stage.text());
      if (!names_.contains(stage.text())) stage.fail("this is none of the stages");
    }
    if (probe.stages.empty()) place.at("stages").fail("at least one stage is needed");
    probe.tolerance = place.at("tolerance").number();
    if (const auto negligible = place.find("negligible")) probe.negligible = negligible->number();
    return probe;
  }

  static void dims(const JsonPlace& place, Expression (&into)[3]) {
    const std::vector<JsonPlace> items = place.items();
    if (items.size() != 3) place.fail("three dimensions are needed");
    for (std::size_t i = 0; i < 3; ++i) into[i] = items[i].expression();
  }

  Isolation isolation(const JsonPlace& place) const {
    place.allow_only({"stage", "about", "shape", "regime", "inputs", "free", "check", "tolerance"});
    Isolation isolation;
    isolation.stage = place.at("stage").text();
    if (!names_.contains(isolation.stage)) place.at("stage").fail("this is none of the stages");
    isolation.about = place.at("about").text();
    if (const auto shape = place.find("shape")) isolation.shape = shape_of(*shape);
    if (const auto regime = place.find("regime")) {
      isolation.regime = regime->text();
      if (std::ranges::find(task_.regimes, isolation.regime, &Regime::name) == task_.regimes.end())
        regime->fail("the task has no such regime");
    }
    if (const auto inputs = place.find("inputs"))
      for (const auto& [name, words] : inputs->members()) isolation.edits.push_back(edit(name, words));
    if (const auto free = place.find("free")) isolation.free = free_of(*free);
    if (const auto check = place.find("check")) {
      if (check->text() != "written") check->fail("expected \"written\"");
      isolation.written = true;
    }
    if (const auto tolerance = place.find("tolerance")) isolation.tolerance = tolerance->number();
    return isolation;
  }

  Bindings shape_of(const JsonPlace& place) const {
    Bindings shape = place.values();
    for (const auto& [name, value] : shape)
      if (std::ranges::find(task_.shape_parameters, name) == task_.shape_parameters.end())
        place.fail(fmt::format("the task has no shape parameter '{}'", name));
    return shape;
  }

  /// Words, or an object of words by an option's value: {"v_layout": {"row_major": "rows", "transposed": "columns"}}.
  InputEdit edit(const std::string& input, const JsonPlace& place) const {
    if (!is_input(task_, input)) place.fail(fmt::format("the task has no input '{}'", input));
    if (!place.is_object()) return read_edit(input, place.text(), place);
    for (const auto& [option, by_value] : place.members()) {
      const auto chosen = options_.find(option);
      if (chosen == options_.end()) by_value.fail(fmt::format("the task has no option '{}'", option));
      const JsonPlace words = by_value.at(expr::to_string(chosen->second));
      return read_edit(input, words.text(), words);
    }
    place.fail("an option is needed");
  }

  static Isolation::Free free_of(const JsonPlace& place) {
    const std::string text = place.text();
    if (text == "row") return Isolation::Free::row;
    if (text == "matrix") return Isolation::Free::matrix;
    place.fail("expected \"row\" or \"matrix\"");
  }

  const SourceTree& tree_;
  const Task& task_;
  const Bindings& options_;
  JsonPlace root_;
  Stages stages_;
  std::set<std::string> names_;
};

/// Inputs that a regime draws and that no other input makes.
std::vector<std::string> drawn_by_regimes(const Task& task, const Bindings& options) {
  std::set<std::string> computed;
  for (const Tensor& tensor : task.inputs) computed.insert({tensor.scale, tensor.zero_point});
  std::vector<std::string> drawn;
  for (const Tensor& tensor : task.inputs) {
    if (computed.contains(tensor.name) || !is_present(tensor, options)) continue;
    const bool floats = is_floating(dtype_of(tensor, options)) || !tensor.scale.empty();
    if (tensor.draw.kind == DrawKind::automatic && floats) drawn.push_back(tensor.name);
  }
  return drawn;
}

std::vector<InputEdit> all_equal_but(const std::vector<std::string>& inputs, const std::string& kept) {
  std::vector<InputEdit> edits;
  for (const std::string& input : inputs)
    if (input != kept) edits.push_back({.input = input, .equal = true});
  return edits;
}

Stages usual_stages(const Task& task, const Bindings& options) {
  const std::vector<std::string> inputs = drawn_by_regimes(task, options);
  Stages stages;
  const auto add = [&](const std::string& stage, const std::string& about, std::vector<InputEdit> edits) {
    Isolation isolation;
    isolation.stage = stage;
    isolation.about = about;
    isolation.edits = std::move(edits);
    stages.isolations.push_back(std::move(isolation));
  };
  add("output", "every input holds ones", all_equal_but(inputs, ""));
  if (inputs.size() > 1)
    for (const std::string& input : inputs)
      add(input, fmt::format("{} as drawn, every other input holds ones", input), all_equal_but(inputs, input));
  add("combination", "all inputs as drawn", {});
  if (inputs.size() > 1)
    for (const std::string& input : inputs)
      stages.stages.push_back({input, fmt::format("{}: where its elements are read, and what they count", input)});
  stages.stages.push_back({"combination", "how the inputs are combined"});
  stages.stages.push_back({"output", "what does not depend on the inputs' values: extents, constants, stores"});
  return stages;
}

}  // namespace

Stages load_stages(const SourceTree& tree, const Task& task, const Bindings& options) {
  if (!tree.contains(task.name + "/" + kStagesFile)) return usual_stages(task, options);
  return StagesLoader(tree, task, options).load();
}

Candidate make_probed_candidate(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                                const Target& target, const Bindings& facts, const Stages& stages) {
  Task with_probes = task;
  Family probed = family;
  Bindings known = facts;
  known.insert_or_assign(kProbing, true);
  std::vector<ArgumentSpec> addresses;
  for (const Probe& probe : stages.probes) {
    with_probes.outputs.push_back(probe.tensor);
    addresses.push_back(parse_argument(probe.tensor.name));
  }
  for (LaunchSpec& launch : probed.launches)
    if (launch.kernel == stages.probed.at(family.name))
      launch.arguments.insert(launch.arguments.begin(), addresses.begin(), addresses.end());
  return make_candidate(tree, with_probes, probed, genome, target, known);
}

}  // namespace evo
