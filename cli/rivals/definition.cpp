#include "cli/rivals/definition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "cli/proposer/line_process.h"
#include "cli/rivals/foreign_task.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/expression.h"
#include "engine/short_form/own_words.h"
#include "evaluator/judge/torch_process.h"

namespace evo::embedded {
extern const std::string_view undefined_names, made_by_init;
}

namespace evo::cli {
namespace {

using Problem = nlohmann::ordered_json;

/// Sizes of axes that a Definition leaves open. The second fits no tile.
constexpr std::int64_t kOpenSizes[] = {16, 37, 1024};

std::string dtype_of_definition(const std::string& dtype, const std::string& where, const std::string& file) {
  static const std::map<std::string, std::string> kNames = {
      {"float64", "f64"},        {"float32", "f32"},      {"float16", "f16"}, {"bfloat16", "bf16"},
      {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"}, {"int64", "s64"},   {"int32", "s32"},
      {"int16", "s16"},          {"int8", "s8"},          {"uint8", "u8"},    {"bool", "bool"}};
  const auto found = kNames.find(dtype);
  if (found == kNames.end())
    refuse_problem(file, fmt::format("{} has dtype {}, which a torch reference does not give", where, dtype));
  return found->second;
}

/// The place of an element of a Definition. Throws where it is missing.
const Problem& member(const Problem& object, const char* key, const std::string& where, const std::string& file) {
  if (!object.is_object() || !object.contains(key)) refuse_problem(file, fmt::format("{} has no {}", where, key));
  return object[key];
}

/// Whether words about an input of floats say that not all numbers are meant.
bool is_promise(const std::string& words) {
  static const std::regex kPromises(
      R"(prob|softmax|distribution|positive|non-?negative|sorted|normali[sz]ed|mask|threshold|top_?[kp]|triang|symmetric)",
      std::regex::icase);
  return std::regex_search(words, kPromises);
}

class DefinitionReader {
 public:
  DefinitionReader(const Problem& definition, const std::string& file) : definition_(definition), file_(file) {}

  ForeignProblem read(const std::string& name) {
    ForeignProblem problem;
    const std::string own = member(definition_, "name", "it", file_).get<std::string>();
    problem.task = task_name_of(name.empty() ? own : name);
    problem.kind = "a Definition of flashinfer-bench";
    read_axes();
    Problem task = {{"summary", definition_.value("description", own)}, {"shape_parameters", parameters_}};
    task["inputs"] = tensors("inputs");
    task["outputs"] = tensors("outputs");
    for (Problem& output : task["outputs"])
      if (holds_floats(output["dtype"].get<std::string>()))
        output["limits"] = limits_of_answers(output["dtype"].get<std::string>());
    add_shapes(task);
    task["seeds"] = 2;
    task["regimes"] = regimes_of_problems();
    task["reference"] = {{"torch", true}};
    const std::string text = reference(own);
    check_names(problem);
    say_how_inputs_are_made(problem);
    finish_problem(problem, task, text, file_, "its init");
    return problem;
  }

 private:
  void read_axes() {
    for (const auto& [name, axis] : member(definition_, "axes", "it", file_).items()) {
      parameters_.push_back(name);
      taken_.insert(name);
      if (axis.value("type", "") == "const")
        constant_[name] = member(axis, "value", "axis " + name, file_).get<std::int64_t>();
    }
    if (parameters_.empty()) refuse_problem(file_, "it has no axes");
  }

  /// A name for the task: no word of Python or of evo's, not that of an axis, nor, for an output that stands in the
  /// place of an input, that input's.
  std::string free_name(std::string name) {
    while (is_taken_word(name) || !taken_.insert(name).second) name += "_";
    return name;
  }

  Problem tensors(const char* which) {
    Problem list = Problem::array();
    const bool inputs = std::string_view(which) == "inputs";
    for (const auto& [name, tensor] : member(definition_, which, "it", file_).items()) {
      const std::string where = fmt::format("{} {}", which, name);
      if (inputs && tensor.value("optional", false)) continue;  // The reference does without.
      Problem dims = Problem::array();
      const Problem& shape = member(tensor, "shape", where, file_);
      if (shape.is_null()) {
        dims.push_back("1");
        if (inputs) scalars_.insert(name);
      } else {
        for (const Problem& axis : shape) dims.push_back(axis.get<std::string>());
      }
      const std::string dtype = member(tensor, "dtype", where, file_).get<std::string>();
      const std::string here = free_name(name);
      list.push_back({{"name", here}, {"dtype", dtype_of_definition(dtype, where, file_)}, {"dims", dims}});
      if (!inputs) continue;
      inputs_[name] = here;
      if (has_init()) list.back()["draw"] = kMadeByReference;
    }
    return list;
  }

  void add_shapes(Problem& task) {
    std::vector<std::string> names;
    for (const std::int64_t open : kOpenSizes) {
      Problem sizes;
      for (const std::string& name : parameters_) sizes[name] = constant_.contains(name) ? constant_[name] : open;
      keep_constraints(sizes);
      const std::string shape = constant_.size() == parameters_.size() ? "theirs" : fmt::format("open{}", open);
      task["shapes"][shape] = sizes;
      if (names.empty() || names.back() != shape) names.push_back(shape);
    }
    const std::vector<std::string> few(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 2)));
    task["sets"] = {{"cuda", {{"timed", {names.back()}}, {"validated", names}}},
                    {"vgpu", {{"timed", {names.front()}}, {"validated", few}}}};
  }

  /// A program that makes its inputs.
  bool has_init() const {
    return definition_.contains("init") && definition_["init"].is_string() &&
           definition_["init"].get_ref<const std::string&>().find("def ") != std::string::npos;
  }

  /// "len_indptr == batch_size + 1": the size of an open axis follows from others. What else they say is for people.
  void keep_constraints(Problem& sizes) {
    others_.clear();
    if (!definition_.contains("constraints")) return;
    for (const Problem& constraint : definition_["constraints"]) {
      const std::string text = constraint.is_string() ? constraint.get<std::string>() : constraint.dump();
      const std::size_t equals = text.find("==");
      const std::string axis(trim(std::string_view(text).substr(0, equals)));
      try {
        Bindings known;
        for (const auto& [name, size] : sizes.items()) known[name] = size.get<std::int64_t>();
        if (equals != std::string::npos && sizes.contains(axis) && !constant_.contains(axis))
          sizes[axis] = Expression::parse(text.substr(equals + 2)).evaluate_int(known);
        else if (!Expression::parse(text).evaluate_bool(known))
          others_.push_back(text);
      } catch (const Error&) {
        others_.push_back(text);
      }
    }
  }

  /// The function that it calls: run, or the last one of a reference that has none of this name.
  std::string function_of(const std::string& code) const {
    std::string last;
    for (const std::string& line : split(code, '\n'))
      if (line.starts_with("def ") && last != "run") last = trim(std::string_view(line).substr(4, line.find('(') - 4));
    if (last.empty()) refuse_problem(file_, "its reference has no function run");
    return last;
  }

  std::string reference(const std::string& own) const {
    const auto code = member(definition_, "reference", "it", file_).get<std::string>();
    std::string arguments, call;
    std::string names;
    for (const auto& [name, tensor] : definition_["inputs"].items()) {
      if (!inputs_.contains(name)) {
        call += fmt::format("{}None", call.empty() ? "" : ", ");
        continue;
      }
      const std::string& here = inputs_.at(name);
      names += fmt::format("{}: {}, ", Problem(name).dump(), Problem(here).dump());
      arguments += here + ", ";
      call += fmt::format("{}{}", call.empty() ? "" : ", ", scalars_.contains(name) ? here + ".item()" : here);
    }
    std::string outputs;
    for (const auto& [name, tensor] : definition_["outputs"].items()) outputs += fmt::format("\"{}\", ", name);
    return fmt::format(
        "\"\"\"The reference of the Definition {} of flashinfer-bench.\"\"\"\n\n{}\n\n\n"
        "def reference({}**_):\n    outputs = {}({})\n"
        "    return tuple(outputs[name] for name in ({})) if isinstance(outputs, dict) else outputs\n{}",
        own, code, arguments, function_of(code), call, outputs,
        has_init() ? fmt::format("\n\nINIT = {}\nINPUTS = {{{}}}\n\n\n{}", definition_["init"].dump(), names,
                                 embedded::made_by_init)
                   : "");
  }

  /// A look at its names needs a python, but no torch.
  void check_names(ForeignProblem& problem) const {
    Problem names;
    try {
      names = said_by(embedded::undefined_names, file_)["names"];
    } catch (const LineFailure& failure) {
      problem.remarks += fmt::format("whether its reference has all that it names was not looked at: {} {}\n",
                                     python_name(), failure.what());
      return;
    }
    std::vector<std::string> missing;
    for (const Problem& name : names) missing.push_back(name.get<std::string>());
    if (missing.empty()) return;
    refuse_problem(
        file_,
        fmt::format("its reference names {}, which {} neither Python's nor in it: put the import or the function "
                    "into \"reference\"",
                    fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"));
  }

  /// What it says of its inputs beside their sizes is not what evo draws by.
  void say_how_inputs_are_made(ForeignProblem& problem) const {
    for (const auto& [name, input] : definition_["inputs"].items())
      if (!inputs_.contains(name)) {
        problem.remarks += fmt::format("input {} is optional: the task is without it\n", name);
      } else if (input.contains("init") && !input["init"].is_null()) {
        problem.remarks += fmt::format("input {}: its init, {}, is not followed: say in task.json how it is drawn\n",
                                       inputs_.at(name), input["init"].dump().substr(0, 200));
      } else if (const std::string about = input.value("description", "");
                 !has_init() && is_promise(name + " " + about)) {
        problem.remarks += fmt::format(
            "input {}{}: evo draws numbers of any sign and size; what a solution may rely on belongs into task.json, "
            "as a "
            "\"draw\" (docs/import.md)\n",
            inputs_.at(name), about.empty() ? "" : fmt::format(", \"{}\"", about.substr(0, 200)));
      }
    if (definition_.contains("init") && !definition_["init"].is_null() && !has_init())
      problem.remarks +=
          "its init says how its inputs are made, and is not followed: say in task.json how they are drawn\n";
    if (!others_.empty())
      problem.remarks +=
          fmt::format("constraints that are not followed: choose shapes and draws in task.json that meet {}\n",
                      fmt::join(others_, "; "));
  }

  const Problem& definition_;
  const std::string& file_;
  std::vector<std::string> parameters_;
  std::map<std::string, std::int64_t> constant_;
  std::map<std::string, std::string> inputs_;  ///< Their names in the task.
  std::set<std::string> taken_;
  std::set<std::string> scalars_;
  std::vector<std::string> others_;  ///< Constraints that the sizes do not keep by themselves.
};

}  // namespace

ForeignProblem read_definition(const std::string& text, const std::string& file, const std::string& name) {
  const Problem definition = Problem::parse(text, nullptr, false);
  try {
    return DefinitionReader(definition, file).read(name);
  } catch (const nlohmann::json::exception& error) {
    refuse_problem(file, fmt::format("it is no Definition of flashinfer-bench ({})", error.what()));
  }
}

}  // namespace evo::cli
