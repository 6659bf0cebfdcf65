#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/rounding.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/expression/json_place.h"
#include "engine/expression/name_scope.h"
#include "engine/source/template.h"
#include "engine/task/task.h"

namespace evo {
namespace {

/// How far rows are from zero where they are far: beyond the -5e4 and -1e4 that stand for minus infinity in kernels.
constexpr double kFar = 1e5;

bool is_dtype(const Value& value) {
  const auto* name = std::get_if<std::string>(&value);
  if (!name) return false;
  try {
    parse_dtype(*name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class TaskLoader {
 public:
  TaskLoader(const SourceTree& tree, std::string_view name)
      : tree_(tree), root_(JsonPlace::read(tree, fmt::format("{}/task.json", name))) {
    task_.name = name;
  }

  Task load() {
    root_.allow_only({"summary", "shape_parameters", "specialised", "options", "requires", "inputs", "outputs",
                      "shapes", "sets", "seeds", "regimes", "deterministic", "limits", "objectives", "floor",
                      "reference", "self_consistent"});
    if (const auto summary = root_.find("summary")) task_.summary = summary->text();
    parameters();
    options();
    task_.legal = scope_.read(root_, "requires", true);
    if (const auto deterministic = root_.find("deterministic")) task_.deterministic = deterministic->boolean();
    tensors("inputs", task_.inputs);
    tensors("outputs", task_.outputs);
    shapes();
    check_scales(task_, root_);
    shape_sets();
    limits();
    objectives();
    seeds_and_regimes();
    floor();
    reference();
    for (const Tensor& tensor : drawn_tensors(task_)) {
      if (tensor.draw.kind == DrawKind::file)
        task_.files[tensor.draw.path] = tree_.find(task_.name + "/" + tensor.draw.path)->second;
      if (tensor.draw.path == "reference.py" && !has_torch_reference(task_))
        throw usage_error(
            fmt::format("{}/task.json: {} is drawn by reference.py: that needs \"reference\": {{\"torch\": true}}",
                        task_.name, tensor.name));
    }
    task_.hash = hash();
    return std::move(task_);
  }

 private:
  void parameters() {
    for (const JsonPlace& place : root_.at("shape_parameters").items()) {
      task_.shape_parameters.push_back(place.text());
      scope_.declare(place, task_.shape_parameters.back());
    }
    if (task_.shape_parameters.empty()) root_.at("shape_parameters").fail("at least one parameter is needed");
    const auto specialised = root_.find("specialised");
    if (!specialised) return;
    for (const JsonPlace& place : specialised->items()) {
      require_known(place, "shape parameter", place.text(), task_.shape_parameters);
      task_.specialised.push_back(place.text());
    }
  }

  void options() {
    const auto options = root_.find("options");
    if (!options) return;
    for (const auto& [name, place] : options->members()) {
      scope_.declare(place, name);
      Option option{name, {}};
      for (const JsonPlace& value : place.items()) option.values.push_back(value.value());
      if (option.values.empty()) place.fail("at least one value is needed; the first is the default");
      task_.options.push_back(std::move(option));
    }
  }

  void tensors(std::string_view key, std::vector<Tensor>& tensors) {
    const bool outputs = key == "outputs";
    for (const JsonPlace& place : root_.at(key).items()) {
      if (outputs) {
        place.allow_only({"name", "dtype", "dims", "strides", "scale", "zero_point", "when", "inout", "draw", "limits",
                          "any_of_equal"});
      } else {
        place.allow_only({"name", "dtype", "dims", "strides", "scale", "zero_point", "draw", "when"});
      }
      Tensor tensor;
      tensor.name = place.at("name").text();
      tensor_scope_.declare(place.at("name"), tensor.name);
      if (scope_.has(tensor.name)) place.at("name").fail(fmt::format("the name '{}' is already taken", tensor.name));
      tensor.dtype = place.at("dtype").text();
      check_dtype(place.at("dtype"), tensor.dtype);
      tensor.dims = scope_.read_list(place, "dims");
      if (place.find("strides")) tensor.strides = scope_.read_list(place, "strides");
      if (!tensor.strides.empty() && tensor.strides.size() != tensor.dims.size())
        place.at("strides").fail(fmt::format("{} strides for {} dims", tensor.strides.size(), tensor.dims.size()));
      if (const auto scale = place.find("scale")) tensor.scale = scale->text();
      if (const auto zero_point = place.find("zero_point")) tensor.zero_point = zero_point->text();
      tensor.when = option_scope().read(place, "when", true);
      if (const auto inout = place.find("inout")) tensor.inout = inout->boolean();
      if (const auto drawn = place.find("draw")) tensor.draw = draw_of(*drawn, tensor, outputs);
      if (const auto limits = place.find("limits")) tensor.limits = limits_of_tensor(*limits, tensor);
      if (const auto equal = place.find("any_of_equal")) tensor.any_of_equal = equal->text();
      tensors.push_back(std::move(tensor));
    }
    if (tensors.empty() && outputs) root_.at(key).fail("at least one tensor is needed");
  }

  std::vector<OutputLimits> limits_of_tensor(const JsonPlace& place, const Tensor& tensor) const {
    std::vector<OutputLimits> limits = read_output_limits(place, option_scope());
    for (const OutputLimits& one : limits) {
      if (one.limits.off_by_one > 0 && !tensor.scale.empty())
        place.fail("off_by_one is of outputs without a scale; 'atol' is in real values");
      if (one.limits.change > 0 && !tensor.inout) place.fail("change is of outputs with \"inout\": true");
    }
    return limits;
  }

  NameScope option_scope() const {
    NameScope scope;
    for (const Option& option : task_.options) scope.add(option.name);
    return scope;
  }

  Draw draw_of(const JsonPlace& place, const Tensor& tensor, bool output) const {
    if (output && !tensor.inout) place.fail("only an output with \"inout\": true is drawn");
    const auto option = std::ranges::find(task_.options, tensor.dtype, &Option::name);
    const std::string dtype = option == task_.options.end() ? tensor.dtype : expr::to_string(option->values.front());
    const bool floating = is_floating(parse_dtype(dtype));
    Draw draw = place.read_as([&](const std::string& text) { return parse_draw(text, floating); });
    if (draw.kind == DrawKind::unset) place.fail("an input is written before the call");
    if (!tensor.scale.empty() && draw.kind != DrawKind::automatic) place.fail("a quantised tensor is drawn by regimes");
    for (const Expression& number : draw.numbers) scope_.check(place, number);
    if (draw.kind == DrawKind::file && !tree_.contains(task_.name + "/" + draw.path))
      place.fail(fmt::format("{}/{} is missing", task_.name, draw.path));
    return draw;
  }

  void check_dtype(const JsonPlace& place, const std::string& dtype) const {
    for (const Option& option : task_.options) {
      if (option.name != dtype) continue;
      if (!std::all_of(option.values.begin(), option.values.end(), is_dtype)) {
        place.fail(fmt::format("option '{}' has values that are no dtypes", dtype));
      }
      return;
    }
    require_dtype(place, dtype);
  }

  static void require_dtype(const JsonPlace& place, const std::string& dtype) {
    try {
      parse_dtype(dtype);
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }

  void shapes() {
    for (const auto& [name, place] : root_.at("shapes").members()) {
      Shape shape{name, {}};
      for (const auto& [parameter, value] : place.members()) {
        require_known(value, "shape parameter", parameter, task_.shape_parameters);
        if (value.integer() < 1 || value.integer() > kMaxParameter) value.fail("must be positive and fit 31 bits");
        shape.parameters[parameter] = value.integer();
      }
      for (const std::string& parameter : task_.shape_parameters) place.at(parameter);
      if (!meets_requirements(shape)) place.fail(fmt::format("does not meet '{}'", task_.legal.text()));
      task_.shapes.push_back(std::move(shape));
    }
    if (task_.shapes.empty()) root_.at("shapes").fail("at least one shape is needed");
  }

  // Under some choice of options.
  bool meets_requirements(const Shape& shape) const {
    const auto legal = task_.legal.evaluate_partially(shape.parameters);
    return !legal || Expression::constant(*legal).evaluate_bool({});
  }

  void shape_sets() {
    const auto sets = root_.find("sets");
    if (!sets) return;
    sets->allow_only(kind_names());
    for (const auto& [kind, place] : sets->members()) {
      place.allow_only({"timed", "validated", "self_test"});
      ShapeSets& set = task_.shape_sets[kind] = {shape_names(place.at("timed")), shape_names(place.at("validated"))};
      if (set.timed.empty()) place.at("timed").fail("at least one shape is needed");
      if (const auto shapes = place.find("self_test")) set.self_test = shape_names(*shapes);
    }
  }

  std::vector<std::string> shape_names(const JsonPlace& list) const {
    std::vector<std::string> names;
    for (const JsonPlace& place : list.items()) {
      require_known(place, "shape", place.text(), names_of(task_.shapes));
      names.push_back(place.text());
    }
    return names;
  }

  void seeds_and_regimes() {
    if (const auto seeds = root_.find("seeds")) {
      if (seeds->integer() < 1 || seeds->integer() > 1000) seeds->fail("must be 1 to 1000");
      task_.seeds = static_cast<int>(seeds->integer());
    }
    const auto regimes = root_.find("regimes");
    if (!regimes) return usual_regimes();
    for (const auto& [name, place] : regimes->members()) task_.regimes.push_back(regime(name, place));
    if (task_.regimes.empty()) regimes->fail("at least one regime is needed");
  }

  // What a task gets that names none: faults show in some of them, whatever it computes.
  void usual_regimes() {
    bool integers = false, floats = false;
    for (const Tensor& input : drawn_tensors(task_)) {
      for (const Bindings& options : dtype_choices(input))
        (draws_whole_numbers(input, dtype_of(input, options)) ? integers : floats) = true;
    }
    const double rounded_to = greatest_of_outputs();
    task_.regimes = {{"normal", Distribution::normal, 1, {}}};
    if (floats) {
      task_.regimes.push_back({"large", Distribution::normal, 8, {}});
      task_.regimes.push_back({"outliers", Distribution::outliers, 8, {}});
      task_.regimes.push_back({"sparse", Distribution::sparse, 1, {}});
      task_.regimes.push_back({"constant_rows", Distribution::constant_rows, 1, {}});
      task_.regimes.push_back({"far_rows", Distribution::far_rows, kFar, {}});
    }
    if (integers || !floats) {
      task_.regimes.push_back({"all_equal", Distribution::all_equal, 1, {}});
      task_.regimes.push_back({"extremes", Distribution::extremes, 1, {}});
      task_.regimes.push_back({"sorted", Distribution::sorted, 1, {}});
    }
    if (integers || !floats || rounded_to > 1) task_.regimes.push_back({"ties", Distribution::ties, rounded_to, {}});
  }

  double greatest_of_outputs() const {
    double greatest = 1;
    for (const Tensor& output : task_.outputs)
      for (const Bindings& options : dtype_choices(output))
        greatest = std::max(greatest, greatest_rounded_to(dtype_of(output, options)));
    return greatest;
  }

  std::vector<Bindings> dtype_choices(const Tensor& tensor) const {
    const auto option = std::ranges::find(task_.options, tensor.dtype, &Option::name);
    if (option == task_.options.end()) return {{}};
    std::vector<Bindings> choices;
    for (const Value& value : option->values) choices.push_back({{option->name, value}});
    return choices;
  }

  Regime regime(const std::string& name, const JsonPlace& place) const {
    if (const auto objectives = place.find("objectives"); objectives && task_.regimes.empty())
      objectives->fail("the first regime is every objective's");
    const Regime regime = read_regime(place, name, names_of(drawn_tensors(task_)), names_of(task_.objectives));
    const auto has_zero_point = [](const Tensor& tensor) { return !tensor.zero_point.empty(); };
    if (place.find("unit_scales") && std::ranges::any_of(task_.inputs, has_zero_point))
      place.at("unit_scales").fail("only of tasks without zero points: these follow from the scales");
    return regime;
  }

  void limits() {
    const auto place = root_.find("limits");
    if (!place) return;
    task_.has_limits = true;
    task_.limits = read_limits(*place);
    require_emulation(*place, task_.limits);
  }

  void objectives() {
    const auto objectives = root_.find("objectives");
    if (!objectives) {
      task_.objectives = {{"latency", task_.limits}};
      return;
    }
    for (const auto& [name, place] : objectives->members()) {
      if (!is_identifier(name)) place.fail(fmt::format("'{}' is not a name", name));
      place.allow_only({"limits", "formerly"});
      Objective objective{name, task_.limits};
      if (const auto formerly = place.find("formerly")) objective.formerly = formerly->text();
      if (const auto limits = place.find("limits")) {
        objective.limits = read_tighter_limits(*limits, task_.limits);
        require_emulation(*limits, objective.limits);
      }
      task_.objectives.push_back(std::move(objective));
    }
    if (task_.objectives.empty()) objectives->fail("at least one objective is needed; the first is the default");
  }

  void require_emulation(const JsonPlace& place, const Limits& limits) const {
    const std::string file = task_.name + "/limits.json";
    if (limits.follow_emulation() && place.find("emulation") && !tree_.contains(file))
      place.at("emulation").fail(fmt::format("{} with an emulation is missing (docs/trust.md)", file));
  }

  void floor() {
    task_.flops = Expression::constant(std::int64_t{0});
    task_.math = "f32";
    const auto given = root_.find("floor");
    if (!given) return;
    const JsonPlace& place = *given;
    place.allow_only({"flops", "bytes", "math"});
    task_.flops = scope_.read(place, "flops");
    task_.bytes = scope_.read(place, "bytes");
    task_.has_bytes = true;
    task_.math = place.at("math").text();
    require_dtype(place.at("math"), task_.math);
  }

  void reference() {
    const JsonPlace place = root_.at("reference");
    if (place.find("torch")) {
      torch_reference(place);
      return;
    }
    place.allow_only({"kernel", "grid", "block", "arguments", "constants", "dynamic_smem", "typed_outputs"});
    task_.reference = task_.name + "/reference.cu";
    if (!tree_.contains(task_.reference)) place.fail(fmt::format("{} is missing", task_.reference));
    task_.reference_kernel = place.at("kernel").text();
    dims(place, "grid", task_.reference_grid);
    dims(place, "block", task_.reference_block);
    task_.reference_smem = scope_.read(place, "dynamic_smem", std::int64_t{0});
    if (const auto typed = place.find("typed_outputs")) task_.typed_reference = typed->boolean();
    if (const auto own = root_.find("self_consistent")) task_.self_consistent = own->boolean();
    for (const Tensor& output : task_.outputs) {
      if (task_.typed_reference && !output.scale.empty())
        place.at("typed_outputs").fail(fmt::format("output '{}' has a scale: its reference gives f32", output.name));
    }
    for (const JsonPlace& argument : place.at("arguments").items()) {
      task_.reference_arguments.push_back(argument.read_as(parse_argument));
      if (task_.tensor(argument.text())) continue;
      for (const FieldSpec& field : task_.reference_arguments.back().fields) {
        for (const Expression& component : field.components) scope_.check(argument, component);
      }
    }
    task_.reference_constants = read_constants(place, task_, scope_);
  }

  /// The reference is a program of torch, not a kernel.
  void torch_reference(const JsonPlace& place) {
    place.allow_only({"torch"});
    if (!place.at("torch").boolean()) place.at("torch").fail("must be true, or the reference a kernel");
    task_.reference = torch_reference_path(task_.name);
    if (!tree_.contains(task_.reference)) place.fail(fmt::format("{} is missing", task_.reference));
    for (const Tensor& output : task_.outputs)
      if (!output.scale.empty()) place.fail(fmt::format("output '{}' has a scale: torch gives values", output.name));
  }

  void dims(const JsonPlace& place, std::string_view key, Expression (&into)[3]) const {
    const std::vector<Expression> read = scope_.read_list(place, key);
    if (read.size() != 3) place.at(key).fail("three dimensions are needed");
    std::copy(read.begin(), read.end(), into);
  }

  std::string hash() const {
    std::set<std::string> covered = borrowed_files(tree_, task_.name);
    for (const auto& [path, content] : tree_)
      if (is_hashed(path, task_.name) || path == task_.reference) covered.insert(path);
    Hasher hasher;
    for (const std::string& path : covered) hasher.add(path).add(without_probes(tree_.find(path)->second));
    return hasher.hex();
  }

  const SourceTree& tree_;
  JsonPlace root_;
  NameScope scope_;  // shape parameters and options
  NameScope tensor_scope_;
  Task task_;
};
}  // namespace

Task load_task(const SourceTree& tree, std::string_view name) {
  const std::vector<std::string> names = task_names(tree);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw usage_error(fmt::format("unknown task '{}'{}", name, suggestion(name, names)));
  }
  return TaskLoader(tree, name).load();
}

}  // namespace evo
