#include "engine/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/expression/json_place.h"
#include "engine/expression/name_scope.h"
#include "engine/task/template.h"

namespace evo {
namespace {

constexpr std::int64_t kMaxParameter = std::numeric_limits<std::int32_t>::max();
constexpr const char* kExactHint = R"(; an output that must agree bit for bit has "limits": {"exact": true})";
constexpr std::size_t kMaxChoices = 1024;  ///< Combinations of options that are looked at when a task is read.

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

template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& each : all) names.push_back(each.name);
  return names;
}

void require_known(const JsonPlace& place, std::string_view what, const std::string& name,
                   const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    place.fail(fmt::format("unknown {} '{}'{}", what, name, suggestion(name, names)));
  }
}

/// Reads one task.json; each function fills one part of the task and may rely on those before it.
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
    scales();
    shape_sets();
    limits();
    objectives();
    seeds_and_regimes();
    floor();
    reference();
    for (const Tensor& tensor : drawn_tensors(task_)) {
      if (tensor.draw.kind == DrawKind::file)
        task_.files[tensor.draw.path] = tree_.find(task_.name + "/" + tensor.draw.path)->second;
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
      if (const auto limits = place.find("limits")) tensor.limits = output_limits(*limits);
      if (const auto equal = place.find("any_of_equal")) tensor.any_of_equal = equal->text();
      tensors.push_back(std::move(tensor));
    }
    if (tensors.empty() && outputs) root_.at(key).fail("at least one tensor is needed");
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

  void scales() const {
    for (const auto& [key, tensors] : {std::pair("inputs", &task_.inputs), std::pair("outputs", &task_.outputs)}) {
      const auto places = root_.find(key);
      for (std::size_t i = 0; i < tensors->size(); ++i) {
        const Tensor& tensor = (*tensors)[i];
        const JsonPlace place = places->items()[i];
        if (!tensor.any_of_equal.empty())
          require_known(place.at("any_of_equal"), "input", tensor.any_of_equal, names_of(task_.inputs));
        if (!tensor.zero_point.empty() && tensor.scale.empty())
          place.at("zero_point").fail("a tensor with zero points has a scale");
        if (tensor.scale.empty()) continue;
        const JsonPlace scale = place.at("scale");
        const std::string_view side = key == std::string_view("inputs") ? "input" : "output";
        require_known(scale, side, tensor.scale, names_of(*tensors));
        check_scale(scale, tensor, *task_.tensor(tensor.scale));
        if (tensor.zero_point.empty()) continue;
        const JsonPlace zero_point = place.at("zero_point");
        require_known(zero_point, side, tensor.zero_point, names_of(*tensors));
        check_zero_point(zero_point, tensor, *task_.tensor(tensor.zero_point));
      }
    }
  }

  // Dims are expressions, so what they are is looked at for every shape and every choice of options.
  void check_scale(const JsonPlace& place, const Tensor& tensor, const Tensor& scale) const {
    if (!is_scale_dtype(scale.dtype))
      place.fail(fmt::format("scale '{}' must have dtype f32, f16, bf16, e4m3 or e8m0", scale.name));
    for_each_size(place, {&tensor, &scale}, [&](const Shape& shape, const Bindings& options, const Bindings& known) {
      if (!divides(dims_at(place, scale, known), dims_at(place, tensor, known))) {
        place.fail(fmt::format("the dims of '{}' must divide those of '{}' into equal groups{}", scale.name,
                               tensor.name, where(shape, options)));
      }
    });
  }

  void check_zero_point(const JsonPlace& place, const Tensor& tensor, const Tensor& zero_point) const {
    if (is_floating(parse_dtype(zero_point.dtype)))
      place.fail(fmt::format("zero point '{}' must be of integers", zero_point.name));
    const Tensor& scale = *task_.tensor(tensor.scale);
    for_each_size(place, {&zero_point, &scale},
                  [&](const Shape& shape, const Bindings& options, const Bindings& known) {
                    if (dims_at(place, zero_point, known) != dims_at(place, scale, known))
                      place.fail(fmt::format("the dims of '{}' must be those of '{}'{}", zero_point.name, scale.name,
                                             where(shape, options)));
                  });
  }

  static bool is_scale_dtype(const std::string& dtype) {
    static const std::vector<std::string> kScales = {"f32", "f16", "bf16", "e4m3", "e8m0"};
    return std::find(kScales.begin(), kScales.end(), dtype) != kScales.end();
  }

  template <typename Check>
  void for_each_size(const JsonPlace& place, const std::vector<const Tensor*>& tensors, Check check) const {
    for (const Bindings& options : choices(place, tensors)) {
      for (const Shape& shape : task_.shapes) {
        Bindings known = options;
        known.insert(shape.parameters.begin(), shape.parameters.end());
        check(shape, options, known);
      }
    }
  }

  // A dim of d elements in s groups: groups of ceil(d / s) elements, the last of which is not empty.
  static bool divides(const std::vector<std::int64_t>& scale, const std::vector<std::int64_t>& tensor) {
    for (std::size_t i = 0; i < std::max(scale.size(), tensor.size()); ++i) {
      const std::int64_t s = i < scale.size() ? scale[i] : 1, d = i < tensor.size() ? tensor[i] : 1;
      const std::int64_t group = (d + s - 1) / s;
      if (s > d || (d + group - 1) / group != s) return false;
    }
    return true;
  }

  static std::vector<std::int64_t> dims_at(const JsonPlace& place, const Tensor& tensor, const Bindings& known) {
    try {
      return dims_of(tensor, known);
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }

  static std::string where(const Shape& shape, const Bindings& options) {
    std::string text = fmt::format(" (shape {}", shape.name);
    for (const auto& [name, value] : options) text += fmt::format(", {}={}", name, expr::to_string(value));
    return text + ")";
  }

  // Every combination of the options that the tensors' dims read.
  std::vector<Bindings> choices(const JsonPlace& place, const std::vector<const Tensor*>& tensors) const {
    std::vector<Bindings> all = {{}};
    for (const Option& option : task_.options) {
      if (!reads(tensors, option.name)) continue;
      std::vector<Bindings> extended;
      for (const Bindings& choice : all) {
        for (const Value& value : option.values) {
          extended.push_back(choice);
          extended.back()[option.name] = value;
        }
      }
      all = std::move(extended);
      if (all.size() > kMaxChoices) place.fail("the dims depend on too many options");
    }
    return all;
  }

  static bool reads(const std::vector<const Tensor*>& tensors, const std::string& option) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor* tensor) {
      return std::any_of(tensor->dims.begin(), tensor->dims.end(), [&](const Expression& dim) {
        const std::vector<std::string> names = dim.names();
        return std::find(names.begin(), names.end(), option) != names.end();
      });
    });
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
    task_.regimes = {{"normal", Distribution::normal, 1, {}}};
    if (floats) {
      task_.regimes.push_back({"large", Distribution::normal, 8, {}});
      task_.regimes.push_back({"outliers", Distribution::outliers, 8, {}});
      task_.regimes.push_back({"sparse", Distribution::sparse, 1, {}});
      task_.regimes.push_back({"constant_rows", Distribution::constant_rows, 1, {}});
    }
    if (integers || !floats) {
      task_.regimes.push_back({"all_equal", Distribution::all_equal, 1, {}});
      task_.regimes.push_back({"extremes", Distribution::extremes, 1, {}});
      task_.regimes.push_back({"sorted", Distribution::sorted, 1, {}});
      task_.regimes.push_back({"ties", Distribution::ties, 1, {}});
    }
  }

  std::vector<Bindings> dtype_choices(const Tensor& tensor) const {
    const auto option = std::ranges::find(task_.options, tensor.dtype, &Option::name);
    if (option == task_.options.end()) return {{}};
    std::vector<Bindings> choices;
    for (const Value& value : option->values) choices.push_back({{option->name, value}});
    return choices;
  }

  Regime regime(const std::string& name, const JsonPlace& place) const {
    place.allow_only({"distribution", "gain", "tensors", "objectives", "unit_scales"});
    Regime regime;
    regime.name = name;
    regime.distribution = distribution(place.at("distribution"));
    if (const auto gain = place.find("gain")) regime.gain = gain->number();
    if (const auto tensors = place.find("tensors")) {
      for (const JsonPlace& tensor : tensors->items()) {
        require_known(tensor, "input", tensor.text(), names_of(drawn_tensors(task_)));
        regime.tensors.push_back(tensor.text());
      }
    }
    if (const auto objectives = place.find("objectives")) {
      if (task_.regimes.empty()) objectives->fail("the first regime is every objective's");
      for (const JsonPlace& objective : objectives->items()) {
        require_known(objective, "objective", objective.text(), names_of(task_.objectives));
        regime.objectives.push_back(objective.text());
      }
    }
    if (const auto unit_scales = place.find("unit_scales")) {
      regime.unit_scales = unit_scales->boolean();
      const auto has_zero_point = [](const Tensor& tensor) { return !tensor.zero_point.empty(); };
      if (std::ranges::any_of(task_.inputs, has_zero_point))
        unit_scales->fail("only of tasks without zero points: these follow from the scales");
    }
    return regime;
  }

  static Distribution distribution(const JsonPlace& place) {
    static const std::vector<std::pair<std::string, Distribution>> kNames = {
        {"normal", Distribution::normal},
        {"outliers", Distribution::outliers},
        {"zero_group", Distribution::zero_group},
        {"constant_rows", Distribution::constant_rows},
        {"sparse", Distribution::sparse},
        {"max_magnitude", Distribution::max_magnitude},
        {"spikes", Distribution::spikes},
        {"first_row", Distribution::first_row},
        {"log_normal_rows", Distribution::log_normal_rows},
        {"common_channel", Distribution::common_channel},
        {"uniform", Distribution::uniform},
        {"all_equal", Distribution::all_equal},
        {"extremes", Distribution::extremes},
        {"sorted", Distribution::sorted},
        {"ties", Distribution::ties},
    };
    std::vector<std::string> known;
    for (const auto& [name, value] : kNames) {
      if (name == place.text()) return value;
      known.push_back(name);
    }
    place.fail(fmt::format("unknown distribution '{}'{}", place.text(), suggestion(place.text(), known)));
  }

  void limits() {
    const auto place = root_.find("limits");
    if (!place) return;
    task_.has_limits = true;
    allow_limits(*place);
    for (const char* key : {"relative_l2", "cosine"}) place->at(key);
    task_.limits = tightened({}, *place, kExactHint);
    if (task_.limits.exact) place->at("exact").fail("is for single outputs; integers are exact without it");
    require_emulation(*place, task_.limits);
  }

  static void allow_limits(const JsonPlace& place) {
    place.allow_only({"relative_l2", "cosine", "max_abs", "row_l2", "atol", "rtol", "exact", "emulation"});
  }

  // One object, or a list of them of which the first applies whose "when" holds.
  std::vector<OutputLimits> output_limits(const JsonPlace& place) const {
    std::vector<OutputLimits> list;
    for (const JsonPlace& one : place.is_list() ? place.items() : std::vector<JsonPlace>{place}) {
      one.allow_only({"when", "relative_l2", "cosine", "max_abs", "row_l2", "atol", "rtol", "exact"});
      list.push_back({option_scope().read(one, "when", true), given_limits({}, one, kExactHint)});
    }
    return list;
  }

  static Limits tightened(const Limits& limits, const JsonPlace& place, const std::string& hint) {
    allow_limits(place);
    return given_limits(limits, place, hint);
  }

  // The limits with those that are given in their place. `hint`: what to do about a limit of 0.
  static Limits given_limits(Limits limits, const JsonPlace& place, const std::string& hint) {
    for (const auto& [key, limit] :
         {std::pair("relative_l2", &Limits::relative_l2), std::pair("max_abs", &Limits::max_abs),
          std::pair("row_l2", &Limits::row_l2), std::pair("atol", &Limits::atol), std::pair("rtol", &Limits::rtol)}) {
      const auto given = place.find(key);
      if (!given) continue;
      limits.*limit = given->number();
      if (limits.*limit <= 0) given->fail("must be positive" + hint);
    }
    if (const auto cosine = place.find("cosine")) limits.cosine = cosine->number();
    if (limits.cosine < 0 || limits.cosine > 1) place.at("cosine").fail("must be 0 to 1");
    if (const auto exact = place.find("exact")) limits.exact = exact->boolean();
    if (const auto emulation = place.find("emulation")) {
      emulation->allow_only({"relative_l2", "row_l2"});
      if (const auto l2 = emulation->find("relative_l2")) limits.emulated_l2 = emulation_limit(*l2);
      if (const auto row = emulation->find("row_l2")) limits.emulated_row = emulation_limit(*row);
    }
    const bool any = limits.exact || limits.relative_l2 > 0 || limits.max_abs > 0 || limits.atol > 0 || limits.rtol > 0;
    if (!any) place.fail("no limit on the error: give relative_l2, max_abs, atol or rtol, or exact");
    return limits;
  }

  static EmulationLimit emulation_limit(const JsonPlace& place) {
    place.allow_only({"times", "plus"});
    EmulationLimit limit{.times = place.at("times").number(), .plus = 0};
    if (limit.times < 1) place.at("times").fail("must be at least 1: the emulation itself must pass");
    if (const auto plus = place.find("plus")) limit.plus = plus->number();
    if (limit.plus < 0) place.at("plus").fail("must not be negative");
    return limit;
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
        objective.limits = tightened(task_.limits, *limits, "");
        refuse_looser(*limits, objective.limits);
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

  // What no objective allows is a wrong answer. The largest error alone may have no limit (0).
  void refuse_looser(const JsonPlace& place, const Limits& limits) const {
    const char* reason = "must not be looser than the task's limit";
    if (limits.relative_l2 > task_.limits.relative_l2) place.at("relative_l2").fail(reason);
    if (limits.cosine < task_.limits.cosine) place.at("cosine").fail(reason);
    if (task_.limits.max_abs > 0 && limits.max_abs > task_.limits.max_abs) place.at("max_abs").fail(reason);
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
      if (path.starts_with(task_.name + "/") && !is_mutant_file(path, task_.name) &&
          !path.starts_with(task_.name + "/stages.") &&
          (path != torch_reference_path(task_.name) || path == task_.reference))
        covered.insert(path);
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

std::int64_t parse_parameter(std::string_view text, std::string_view number) {
  std::int64_t value = 0;
  for (const char c : number) {
    if (c < '0' || c > '9' || value > kMaxParameter) value = -1;
    if (value < 0) break;
    value = value * 10 + (c - '0');
  }
  if (value < 1 || value > kMaxParameter) {
    throw usage_error(fmt::format("shape '{}': '{}' is not a positive number of 31 bits", text, number));
  }
  return value;
}

// "1,8,512,64" by position or "B=1,H=8,S=512,D=64" by name.
Bindings parse_parameters(const Task& task, std::string_view text) {
  const std::vector<std::string> parts = split(text, ',');
  const std::string form = fmt::format("expected {} or a shape of the task: {}", fmt::join(task.shape_parameters, ","),
                                       list_of(names_of(task.shapes)));
  Bindings parameters;
  if (parts.size() != task.shape_parameters.size()) throw usage_error(fmt::format("shape '{}': {}", text, form));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    const std::string name =
        equals == std::string::npos ? task.shape_parameters[i] : std::string(trim(parts[i].substr(0, equals)));
    const bool known =
        std::find(task.shape_parameters.begin(), task.shape_parameters.end(), name) != task.shape_parameters.end();
    const std::string number(trim(equals == std::string::npos ? parts[i] : parts[i].substr(equals + 1)));
    if (!known || !parameters.emplace(name, parse_parameter(text, number)).second) {
      throw usage_error(fmt::format("shape '{}': {}", text, form));
    }
  }
  return parameters;
}

}  // namespace

const Shape& Task::shape(std::string_view wanted) const {
  for (const Shape& shape : shapes) {
    if (shape.name == wanted) return shape;
  }
  throw usage_error(fmt::format("task {} has no shape '{}'; there are {}", name, wanted, list_of(names_of(shapes))));
}

std::vector<Regime> Task::regimes_of(std::string_view objective) const {
  std::vector<Regime> drawn;
  std::ranges::copy_if(regimes, std::back_inserter(drawn), [&](const Regime& regime) {
    return regime.objectives.empty() || std::ranges::find(regime.objectives, objective) != regime.objectives.end();
  });
  return drawn;
}

const Objective& Task::objective(std::string_view wanted) const {
  for (const Objective& objective : objectives) {
    if (objective.name == wanted || (!objective.formerly.empty() && objective.formerly == wanted)) return objective;
  }
  throw usage_error(
      fmt::format("task {} has no objective '{}'; there are {}", name, wanted, list_of(names_of(objectives))));
}

const Tensor* Task::tensor(std::string_view wanted) const {
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const Tensor& tensor : *tensors) {
      if (tensor.name == wanted) return &tensor;
    }
  }
  return nullptr;
}

Bindings Task::default_options() const {
  Bindings defaults;
  for (const Option& option : options) defaults[option.name] = option.values.front();
  return defaults;
}

bool is_mutant_file(std::string_view path, std::string_view task) {
  return path.starts_with(task) && path.substr(task.size()).starts_with("/mutants/");
}

std::string torch_reference_path(std::string_view task) {
  return std::string(task) + "/reference.py";
}

bool has_torch_reference(const Task& task) {
  return task.reference == torch_reference_path(task.name);
}

std::set<std::string> borrowed_files(const SourceTree& tree, std::string_view task) {
  const std::string folder = std::string(task) + "/";
  const auto is_code = [](std::string_view path) {
    return path.starts_with("include/") || path.ends_with(".cu") || path.ends_with(".cuh");
  };
  std::set<std::string> borrowed;
  std::vector<const std::string*> unread;
  for (const auto& [path, content] : tree)
    if (path.starts_with(folder) && !is_mutant_file(path, task) && !path.starts_with(folder + "stages.") &&
        path != torch_reference_path(task))
      unread.push_back(&content);
  while (!unread.empty()) {
    const std::string& content = *unread.back();
    unread.pop_back();
    for (const auto& [path, named] : tree) {
      if (path.starts_with(folder) || !is_code(path) || content.find(path) == std::string::npos) continue;
      if (borrowed.insert(path).second) unread.push_back(&named);
    }
  }
  return borrowed;
}

std::vector<std::string> task_names(const SourceTree& tree) {
  std::vector<std::string> names;
  for (const auto& [path, content] : tree) {
    const std::vector<std::string> parts = split(path, '/');
    if (parts.size() == 2 && parts[1] == "task.json") names.push_back(parts[0]);
  }
  return names;
}

Task load_task(const SourceTree& tree, std::string_view name) {
  const std::vector<std::string> names = task_names(tree);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw usage_error(fmt::format("unknown task '{}'{}", name, suggestion(name, names)));
  }
  return TaskLoader(tree, name).load();
}

Shape parse_shape(const Task& task, std::string_view text) {
  for (const Shape& shape : task.shapes) {
    if (shape.name == text) return shape;
  }
  Bindings parameters = parse_parameters(task, text);
  for (const Shape& shape : task.shapes) {
    if (shape.parameters == parameters) return shape;
  }
  std::string name;
  for (const std::string& parameter : task.shape_parameters) {
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", parameter, expr::to_string(parameters.at(parameter)));
  }
  return Shape{name, std::move(parameters)};
}

DType dtype_of(const Tensor& tensor, const Bindings& options) {
  const auto option = options.find(tensor.dtype);
  return parse_dtype(option == options.end() ? tensor.dtype : expr::to_string(option->second));
}

std::vector<Tensor> drawn_tensors(const Task& task) {
  std::vector<Tensor> drawn = task.inputs;
  std::ranges::copy_if(task.outputs, std::back_inserter(drawn), &Tensor::inout);
  return drawn;
}

bool draws_whole_numbers(const Tensor& tensor, DType dtype) {
  switch (tensor.draw.kind) {
    case DrawKind::integers:
    case DrawKind::indices:
    case DrawKind::permutation:
    case DrawKind::offsets:
    case DrawKind::page_table:
      return true;
    default:
      return is_integer(dtype) && tensor.scale.empty();
  }
}

bool is_present(const Tensor& tensor, const Bindings& options) {
  return tensor.when.evaluate_bool(options);
}

bool is_legal(const Task& task, const Bindings& options, const Shape& shape) {
  Bindings known = options;
  for (const auto& [name, value] : shape.parameters) known.insert_or_assign(name, value);
  return task.legal.evaluate_bool(known);
}

std::vector<std::int64_t> strides_of(const Tensor& tensor, const Bindings& known) {
  const std::vector<std::int64_t> dims = dims_of(tensor, known);
  std::vector<std::int64_t> strides(dims.size(), 1);
  if (tensor.strides.empty()) {
    for (std::size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
    return strides;
  }
  std::int64_t needed = 1;
  for (std::size_t i = dims.size(); i > 0; --i) {
    strides[i - 1] = tensor.strides[i - 1].evaluate_int(known);
    if (strides[i - 1] < needed) {
      throw usage_error(fmt::format("tensor '{}': stride '{}' is {}: the dims after it take {}", tensor.name,
                                    tensor.strides[i - 1].text(), strides[i - 1], needed));
    }
    if (__builtin_mul_overflow(strides[i - 1], dims[i - 1], &needed))
      throw usage_error(fmt::format("tensor '{}' has more elements than 64 bits can count", tensor.name));
  }
  return strides;
}

std::int64_t extent_of(const Tensor& tensor, const Bindings& known) {
  if (tensor.strides.empty()) return element_count(tensor, known);
  const std::vector<std::int64_t> dims = dims_of(tensor, known), strides = strides_of(tensor, known);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  return last + 1;
}

std::vector<std::int64_t> dims_of(const Tensor& tensor, const Bindings& known) {
  std::vector<std::int64_t> dims;
  for (const Expression& dim : tensor.dims) {
    dims.push_back(dim.evaluate_int(known));
    if (dims.back() < 1) {
      throw usage_error(fmt::format("tensor '{}': dimension '{}' is {}", tensor.name, dim.text(), dims.back()));
    }
  }
  return dims;
}

std::int64_t element_count(const Tensor& tensor, const Bindings& known) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims_of(tensor, known)) {
    if (__builtin_mul_overflow(count, dim, &count)) {
      throw usage_error(fmt::format("tensor '{}' has more elements than 64 bits can count", tensor.name));
    }
  }
  return count;
}

}  // namespace evo
