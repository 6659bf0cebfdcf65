// Long because: Definitions and problems in Python share the way to a task.

#include "cli/rivals/foreign_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <vector>

#include "cli/proposer/guarded_command.h"
#include "cli/proposer/line_process.h"
#include "cli/subject/lookup.h"
#include "cli/text/files.h"
#include "cli/text/shell_words.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/base/text.h"
#include "engine/expression/expression.h"
#include "engine/short_form/json_layout.h"
#include "engine/short_form/own_words.h"
#include "engine/task/task.h"
#include "evaluator/judge/made_inputs.h"
#include "evaluator/judge/torch_process.h"

namespace evo::embedded {
extern const std::string_view describe_problem, undefined_names, made_by_init;
}

namespace evo::cli {
namespace {

namespace fs = std::filesystem;
using Problem = nlohmann::ordered_json;

constexpr std::uintmax_t kLongestProblem = 1 << 20;  // bytes
constexpr double kReadingSeconds = 300;
/// Sizes of axes that a Definition leaves open. The second fits no tile.
constexpr std::int64_t kOpenSizes[] = {16, 37, 1024};

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw usage_error(fmt::format("{}: {}", file, why));
}

/// A name that a task may have.
std::string task_name_of(const std::string& text) {
  std::string name;
  for (const char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ? "p_" + name : name;
}

/// Their tolerance for every element, and the same of the whole: zeros pass the first where values are small.
Problem limits_of(const std::string& dtype) {
  const double tolerance = dtype == "f32" || dtype == "f64" ? 1e-4 : 1e-2;
  return {{"atol", tolerance}, {"rtol", tolerance}, {"relative_l2", tolerance}};
}

bool is_float(const std::string& dtype) {
  return is_floating(parse_dtype(dtype));
}

Problem regimes() {
  return {{"normal", {{"distribution", "normal"}}},
          {"peaked", {{"distribution", "normal"}, {"gain", 5}}},
          {"outliers", {{"distribution", "outliers"}, {"gain", 8}}},
          {"constant_rows", {{"distribution", "constant_rows"}}},
          {"sparse", {{"distribution", "sparse"}}}};
}

constexpr const char* kMade = "@reference.py";

bool is_made(const Problem& input) {
  return input.value("draw", "") == kMade;
}

/// Checks what was made, so that a fault of the importer or of the problem is seen here.
Task checked_task(const ForeignProblem& problem, const std::string& file) {
  try {
    return load_task(problem.files, problem.task);
  } catch (const Error& error) {
    refuse(file, fmt::format("it makes no task ({})", error.what()));
  }
}

/// Why the problem's own generator does not make this input at a shape; empty where it does.
std::string why_not_made(Task task, const std::string& name, const std::string& shape) {
  for (Tensor& input : task.inputs)
    if (input.name != name && input.draw.path == kMakingFile) input.draw = {};
  try {
    recipe_of_case(task, {}, *std::ranges::find(task.shapes, shape, &Shape::name), task.regimes.front(), 0, 0);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// `maker`: what makes inputs, for people: "get_inputs()". What it does not make is drawn by evo.
void finish(ForeignProblem& problem, Problem task, const std::string& reference, const std::string& file,
            const std::string& maker) {
  problem.files.emplace(problem.task + "/reference.py", reference);
  const std::string place = problem.task + "/task.json";
  problem.files[place] = laid_out(task) + "\n";
  std::vector<std::string> made;
  const Task loaded = checked_task(problem, file);
  const auto cheapest = task["sets"]["vgpu"]["validated"][0].get<std::string>();
  for (Problem& input : task["inputs"]) {
    if (!is_made(input)) continue;
    const auto name = input["name"].get<std::string>();
    const std::string why = why_not_made(loaded, name, cheapest);
    if (why.empty()) {
      made.push_back(name);
    } else {
      input.erase("draw");
      problem.remarks += fmt::format("input {}: {} is not followed: {}\n", name, maker, why);
    }
  }
  if (!made.empty())
    problem.remarks += fmt::format("{} makes {}, of each case anew (\"draw\": \"{}\" in task.json)\n", maker,
                                   fmt::join(made, ", "), kMade);
  for (const Problem& input : task["inputs"]) {
    if (is_float(input["dtype"].get<std::string>()) || input.contains("draw")) continue;
    problem.remarks +=
        fmt::format("input {} holds whole numbers: say in task.json how they are drawn (docs/templates.md)\n",
                    input["name"].get<std::string>());
  }
  problem.files[place] = laid_out(task) + "\n";
}

/// The object that a script of ours says about the file, on one line. Throws LineFailure where it says none.
Problem said_by(std::string_view script, const std::string& file) {
  LineProcess process({.command = guarded_command(fmt::format("exec {} -c {} {}", shell_word(python_name()),
                                                              shell_word(script), shell_word(file))),
                       .deadline_s = kReadingSeconds});
  process.start();
  const std::string line = process.receive();
  require_shallow_json(line, file);
  Problem described = Problem::parse(line, nullptr, false);
  if (!described.is_object()) refuse(file, fmt::format("{} says '{}'", python_name(), line.substr(0, 200)));
  if (described.contains("error")) refuse(file, described["error"].get<std::string>());
  return described;
}

Problem describe(const std::string& file) {
  try {
    return said_by(embedded::describe_problem, file);
  } catch (const LineFailure& failure) {
    throw machine_error(fmt::format("{}: it is read with {}, and {}: EVO_PYTHON names another python", file,
                                    python_name(), failure.what()));
  }
}

// ---- Definitions of flashinfer-bench

std::string dtype_of_definition(const std::string& dtype, const std::string& where, const std::string& file) {
  static const std::map<std::string, std::string> kNames = {
      {"float64", "f64"},        {"float32", "f32"},      {"float16", "f16"}, {"bfloat16", "bf16"},
      {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"}, {"int64", "s64"},   {"int32", "s32"},
      {"int16", "s16"},          {"int8", "s8"},          {"uint8", "u8"},    {"bool", "bool"}};
  const auto found = kNames.find(dtype);
  if (found == kNames.end())
    refuse(file, fmt::format("{} has dtype {}, which a torch reference does not give", where, dtype));
  return found->second;
}

/// The place of an element of a Definition. Throws where it is missing.
const Problem& member(const Problem& object, const char* key, const std::string& where, const std::string& file) {
  if (!object.is_object() || !object.contains(key)) refuse(file, fmt::format("{} has no {}", where, key));
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
      if (is_float(output["dtype"].get<std::string>()))
        output["limits"] = limits_of(output["dtype"].get<std::string>());
    add_shapes(task);
    task["seeds"] = 2;
    task["regimes"] = regimes();
    task["reference"] = {{"torch", true}};
    const std::string text = reference(own);
    check_names(problem);
    say_how_inputs_are_made(problem);
    finish(problem, task, text, file_, "its init");
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
    if (parameters_.empty()) refuse(file_, "it has no axes");
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
      if (has_init()) list.back()["draw"] = kMade;
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
    static const std::regex kFunction(R"((^|\n)def (\w+)\s*\()");
    std::string last;
    for (std::sregex_iterator at(code.begin(), code.end(), kFunction); at != std::sregex_iterator(); ++at)
      if (last != "run") last = (*at)[2];
    if (last.empty()) refuse(file_, "its reference has no function run");
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
    refuse(file_,
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

// ---- Problems of KernelBench and robust-kbench

/// Whether get_inputs() promises more than a sign or a range, or something without which the Model has no answer.
bool is_structured(const Problem& input) {
  return input.value("structure", false);
}

Problem tensors_of(const Problem& described, const char* which) {
  std::map<std::int64_t, std::string> parameters;
  for (const auto& [name, size] : described["parameters"].items()) parameters[size.get<std::int64_t>()] = name;
  Problem list = Problem::array();
  for (const Problem& tensor : described[which]) {
    Problem dims = Problem::array();
    for (const Problem& size : tensor["dims"]) {
      if (size.is_string()) {  // A size that only looks like one of the inputs'.
        dims.push_back(size);
        continue;
      }
      const auto found = parameters.find(size.get<std::int64_t>());
      dims.push_back(found == parameters.end() ? std::to_string(size.get<std::int64_t>()) : found->second);
    }
    list.push_back({{"name", tensor["name"]}, {"dtype", tensor["dtype"]}, {"dims", dims}});
    if (tensor.contains("draw")) list.back()["draw"] = tensor["draw"];
    if (is_structured(tensor) || tensor.value("made", false)) list.back()["draw"] = kMade;
  }
  return list;
}

/// What get_inputs() promises of an input and evo's draws do not keep.
std::string promises(const Problem& described) {
  std::string text;
  for (const Problem& input : described["inputs"]) {
    if (!input.contains("promises") || is_structured(input)) continue;
    std::vector<std::string> all;
    for (const Problem& promise : input["promises"]) all.push_back(promise.get<std::string>());
    text += fmt::format(
        "input {}: get_inputs() makes it {}; evo's draws do not, so a solution that relies on it is wrong here",
        input["name"].get<std::string>(), fmt::join(all, ", "));
    if (input.contains("promised_draw"))
      text += fmt::format(" (\"draw\": \"{}\" in task.json keeps it)", input["promised_draw"].get<std::string>());
    text += "\n";
  }
  return text;
}

/// All problems of robust-kbench are called func_forward.py: their folders have names.
std::string name_of_problem(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  return stem == "func_forward" ? fs::absolute(file).parent_path().filename().string() : stem;
}

/// Bytes of the inputs that get_inputs() makes, at these sizes.
std::uint64_t made_bytes(const Problem& task, const Problem& sizes) {
  std::uint64_t bytes = 0;
  for (const Problem& input : task["inputs"]) {
    if (!is_made(input)) continue;
    std::uint64_t elements = 1;
    for (const Problem& dim : input["dims"]) {
      const auto name = dim.get<std::string>();
      elements *= sizes.contains(name) ? sizes[name].get<std::uint64_t>() : std::stoull(name);
    }
    bytes += bytes_for(parse_dtype(input["dtype"].get<std::string>()), elements);
  }
  return bytes;
}

/// Half the sizes, and half of these, until they fit. What `small` keeps stays.
Problem as_large_as_made(const Problem& task, Problem sizes, const Problem& small) {
  while (made_bytes(task, sizes) > kMostMadeBytes && sizes != small)
    for (auto& [name, size] : sizes.items())
      if (size != small[name]) size = std::max(size.get<std::int64_t>() / 2, small[name].get<std::int64_t>());
  return sizes;
}

ForeignProblem read_python_problem(const std::string& file, const std::string& name) {
  const Problem described = describe(file);
  const std::string judge = described["kind"].get<std::string>();
  const std::string own = name_of_problem(file);
  ForeignProblem problem;
  problem.task = task_name_of(name.empty() ? own : name);
  problem.kind = "a problem of " + judge;
  Problem task = {{"summary", fmt::format("{} of {}", own, judge)}, {"shape_parameters", Problem::array()}};
  Problem theirs;
  for (const auto& [parameter, size] : described["parameters"].items()) {
    task["shape_parameters"].push_back(parameter);
    theirs[parameter] = size;
  }
  if (theirs.empty()) refuse(file, "its inputs have no dims");
  task["inputs"] = tensors_of(described, "inputs");
  task["outputs"] = tensors_of(described, "outputs");
  for (Problem& output : task["outputs"])
    if (is_float(output["dtype"].get<std::string>())) output["limits"] = limits_of(output["dtype"].get<std::string>());
  const bool flexible = !described["small"].is_null();
  if (flexible) task["shapes"]["small"] = described["small"];
  task["shapes"]["theirs"] = theirs;
  const char* small = flexible ? "small" : "theirs";
  const bool fits = made_bytes(task, theirs) <= kMostMadeBytes;
  const char* timed = fits || !flexible ? "theirs" : "large";
  if (!fits && flexible) {
    task["shapes"]["large"] = as_large_as_made(task, theirs, described["small"]);
    problem.remarks += fmt::format(
        "at the problem's own size get_inputs() makes more than the {} MiB that evo takes: the "
        "task is timed at {}\n",
        kMostMadeBytes >> 20U, task["shapes"]["large"].dump());
  }
  task["sets"] = {{"cuda", {{"timed", {timed}}, {"validated", flexible ? Problem{"small", timed} : Problem{"theirs"}}}},
                  {"vgpu", {{"timed", {small}}, {"validated", {small}}}}};
  task["seeds"] = 2;
  task["regimes"] = regimes();
  task["reference"] = {{"torch", true}};
  if (!flexible)
    problem.remarks += "its outputs do not follow the sizes of its inputs: the task has the problem's own size alone\n";
  problem.remarks += promises(described);
  finish(problem, task,
         fmt::format("# The problem {} of {}; evo calls reference(), below.\n{}{}", own, judge,
                     read_file(file, kLongestProblem), described["reference"].get<std::string>()),
         file, "get_inputs()");
  return problem;
}

}  // namespace

bool is_foreign_problem(const std::string& file) {
  if (file.ends_with(".py")) return true;
  std::error_code error;
  if (!file.ends_with(".json") || !fs::is_regular_file(file, error) || fs::file_size(file, error) > kLongestProblem)
    return false;
  const Problem json = Problem::parse(read_file(file, kLongestProblem), nullptr, false);
  return json.is_object() && json.contains("axes") && json.contains("inputs");
}

ForeignProblem read_foreign_problem(const std::string& file, const std::string& name) {
  const std::string text = read_file(file, kLongestProblem);
  if (file.ends_with(".py")) return read_python_problem(file, name);
  require_shallow_json(text, file);
  const Problem definition = Problem::parse(text, nullptr, false);
  try {
    return DefinitionReader(definition, file).read(name);
  } catch (const nlohmann::json::exception& error) {
    refuse(file, fmt::format("it is no Definition of flashinfer-bench ({})", error.what()));
  }
}

}  // namespace evo::cli
