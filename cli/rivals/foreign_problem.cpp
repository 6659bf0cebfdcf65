#include "cli/rivals/foreign_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/proposer/line_process.h"
#include "cli/rivals/definition.h"
#include "cli/rivals/foreign_task.h"
#include "cli/text/files.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/base/text.h"
#include "engine/short_form/own_words.h"
#include "engine/task/task.h"
#include "evaluator/judge/made_inputs.h"
#include "evaluator/judge/torch_process.h"

namespace evo::embedded {
extern const std::string_view describe_problem, model_answers;
}

namespace evo::cli {
namespace {

namespace fs = std::filesystem;
using Problem = nlohmann::ordered_json;

bool is_made(const Problem& input) {
  return input.value("draw", "") == kMadeByReference;
}

/// Whether get_inputs() promises more than a sign or a range, or something without which the Model has no answer.
bool is_structured(const Problem& input) {
  return input.value("structure", false);
}

Problem tensors_of(const Problem& described, const char* which) {
  std::map<std::int64_t, std::string> parameters;
  for (const auto& [name, size] : described.at("parameters").items()) parameters[size.get<std::int64_t>()] = name;
  Problem list = Problem::array();
  for (const Problem& tensor : described.at(which)) {
    Problem dims = Problem::array();
    for (const Problem& size : tensor.at("dims")) {
      if (size.is_string()) {  // A size that only looks like one of the inputs'.
        dims.push_back(size);
        continue;
      }
      const auto found = parameters.find(size.get<std::int64_t>());
      dims.push_back(found == parameters.end() ? std::to_string(size.get<std::int64_t>()) : found->second);
    }
    list.push_back({{"name", tensor.at("name")}, {"dtype", tensor.at("dtype")}, {"dims", dims}});
    if (tensor.contains("draw")) list.back()["draw"] = tensor.at("draw");
    if (is_structured(tensor) || tensor.value("made", false)) list.back()["draw"] = kMadeByReference;
  }
  return list;
}

/// What get_inputs() promises of an input and evo's draws do not keep.
std::string promises(const Problem& described) {
  std::string text;
  for (const Problem& input : described.at("inputs")) {
    if (!input.contains("promises") || is_structured(input)) continue;
    std::vector<std::string> all;
    for (const Problem& promise : input.at("promises")) all.push_back(promise.get<std::string>());
    text += fmt::format(
        "input {}: get_inputs() makes it {}; evo's draws do not, so a solution that relies on it is wrong here",
        input.at("name").get<std::string>(), fmt::join(all, ", "));
    if (input.contains("promised_draw"))
      text += fmt::format(" (\"draw\": \"{}\" in task.json keeps it)", input.at("promised_draw").get<std::string>());
    text += "\n";
  }
  return text;
}

/// All problems of robust-kbench are called func_forward.py: their folders have names.
std::string name_of_problem(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  return one_line(stem == "func_forward" ? fs::absolute(file).parent_path().filename().string() : stem);
}

/// Bytes of the inputs that get_inputs() makes, at these sizes.
std::uint64_t made_bytes(const Problem& task, const Problem& sizes) {
  std::uint64_t bytes = 0;
  for (const Problem& input : task["inputs"]) {
    if (!is_made(input)) continue;
    std::uint64_t elements = 1;
    for (const Problem& dim : input["dims"]) {
      const auto name = dim.get<std::string>();
      elements *= sizes.contains(name) ? sizes[name].get<std::uint64_t>() : number_in<std::uint64_t>(name).value_or(1);
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

[[noreturn]] void refuse_description(const std::string& file, const nlohmann::json::exception& error) {
  refuse_problem(file, fmt::format("{} describes it otherwise than evo asks ({})", python_name(), error.what()));
}

/// The names of tensors that mean something in expressions or in the code of packages, and those that were such before.
std::string taken_words(const Problem& described, std::string known) {
  for (const char* which : {"inputs", "outputs"})
    for (const Problem& tensor : described.at(which))
      if (const auto name = tensor.at("name").get<std::string>(); is_taken_word(name)) known += name + " ";
  return known;
}

Problem describe(const std::string& file) {
  try {
    const std::string script = fmt::format("{}\n\n{}", embedded::model_answers, embedded::describe_problem);
    Problem described = said_by(script, file);
    const std::string taken = taken_words(described, "");
    return taken.empty() ? described : said_by(script, file, taken);
  } catch (const nlohmann::json::exception& error) {
    refuse_description(file, error);
  } catch (const LineFailure& failure) {
    throw machine_error(fmt::format("{}: it is read with {}, and {}: EVO_PYTHON names another python", file,
                                    python_name(), failure.what()));
  }
}

ForeignProblem problem_of(const Problem& described, const PythonProblem& from) {
  const auto judge = described.at("kind").get<std::string>();
  const std::string own = name_of_problem(from.file);
  ForeignProblem problem;
  problem.task = task_name_of(from.name.empty() ? own : from.name);
  problem.kind = "a problem of " + judge;
  Problem task = {{"summary", fmt::format("{} of {}", own, judge)}, {"shape_parameters", Problem::array()}};
  Problem theirs;
  for (const auto& [parameter, size] : described.at("parameters").items()) {
    task["shape_parameters"].push_back(parameter);
    theirs[parameter] = size;
  }
  if (theirs.empty()) refuse_problem(from.file, "its inputs have no dims");
  task["inputs"] = tensors_of(described, "inputs");
  task["outputs"] = tensors_of(described, "outputs");
  for (Problem& output : task["outputs"])
    if (holds_floats(output["dtype"].get<std::string>()))
      output["limits"] = limits_of_answers(output["dtype"].get<std::string>());
  const bool flexible = !described.at("small").is_null();
  if (flexible) task["shapes"]["small"] = described.at("small");
  task["shapes"]["theirs"] = theirs;
  const char* small = flexible ? "small" : "theirs";
  const bool fits = made_bytes(task, theirs) <= kMostMadeBytes;
  const char* timed = fits || !flexible ? "theirs" : "large";
  if (!fits && flexible) {
    task["shapes"]["large"] = as_large_as_made(task, theirs, described.at("small"));
    problem.remarks += fmt::format(
        "at the problem's own size get_inputs() makes more than the {} MiB that evo takes: the "
        "task is timed at {}\n",
        kMostMadeBytes >> 20U, task["shapes"]["large"].dump());
  }
  task["sets"] = {{"cuda", {{"timed", {timed}}, {"validated", flexible ? Problem{"small", timed} : Problem{"theirs"}}}},
                  {"vgpu", {{"timed", {small}}, {"validated", {small}}}}};
  task["seeds"] = 2;
  task["regimes"] = regimes_of_problems();
  task["reference"] = {{"torch", true}};
  if (!flexible)
    problem.remarks += "its outputs do not follow the sizes of its inputs: the task has the problem's own size alone\n";
  problem.remarks += promises(described);
  for (const Problem& layer : described.value("of_batch", Problem::array()))
    problem.remarks += fmt::format(
        "{}: takes mean and variance from the batch, as a Model in training does; with self.eval() in __init__ it "
        "takes "
        "those that it keeps\n",
        one_line(layer.get<std::string>()));
  const std::string reference = fmt::format("# The problem {} of {}; evo calls reference(), below.\n{}{}", own, judge,
                                            from.source, described.at("reference").get<std::string>());
  finish_problem(problem, task, reference, from.file, "get_inputs()");
  return problem;
}

}  // namespace

bool is_foreign_problem(const std::string& file) {
  if (file.ends_with(".py")) return true;
  std::error_code error;
  if (!file.ends_with(".json") || !fs::is_regular_file(file, error) || fs::file_size(file, error) > kLongestProblem)
    return false;
  const Problem json = Problem::parse(read_text_file(file, kLongestProblem), nullptr, false);
  return json.is_object() && json.contains("axes") && json.contains("inputs");
}

ForeignProblem problem_described(const std::string& description, const PythonProblem& from) {
  try {
    return problem_of(Problem::parse(description), from);
  } catch (const nlohmann::json::exception& error) {
    refuse_description(from.file, error);
  }
}

ForeignProblem read_foreign_problem(const std::string& file, const std::string& name) {
  const std::string text = read_text_file(file, kLongestProblem);
  if (file.ends_with(".py")) return problem_described(describe(file).dump(), {file, name, text});
  require_shallow_json(text, file);
  return read_definition(text, file, name);
}

}  // namespace evo::cli
