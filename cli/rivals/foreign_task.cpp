#include "cli/rivals/foreign_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/proposer/guarded_command.h"
#include "cli/proposer/line_process.h"
#include "cli/text/shell_words.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/short_form/json_layout.h"
#include "engine/task/task.h"
#include "evaluator/judge/made_inputs.h"
#include "evaluator/judge/torch_process.h"

namespace evo::cli {
namespace {

using Problem = nlohmann::ordered_json;

constexpr double kReadingSeconds = 300;

/// Checks what was made, so that a fault of the importer or of the problem is seen here.
Task checked_task(const ForeignProblem& problem, const std::string& file) {
  try {
    return load_task(problem.files, problem.task);
  } catch (const Error& error) {
    refuse_problem(file, fmt::format("it makes no task ({})", error.what()));
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

}  // namespace

void refuse_problem(const std::string& file, const std::string& why) {
  throw usage_error(fmt::format("{}: {}", file, why));
}

std::string task_name_of(const std::string& text) {
  std::string name;
  for (const char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ? "p_" + name : name;
}

bool holds_floats(const std::string& dtype) {
  return is_floating(parse_dtype(dtype));
}

Problem limits_of_answers(const std::string& dtype) {
  const double tolerance = dtype == "f32" || dtype == "f64" ? 1e-4 : 1e-2;
  return {{"atol", tolerance}, {"rtol", tolerance}, {"relative_l2", tolerance}};
}

Problem regimes_of_problems() {
  return {{"normal", {{"distribution", "normal"}}},
          {"peaked", {{"distribution", "normal"}, {"gain", 5}}},
          {"outliers", {{"distribution", "outliers"}, {"gain", 8}}},
          {"constant_rows", {{"distribution", "constant_rows"}}},
          {"sparse", {{"distribution", "sparse"}}}};
}

Problem said_by(std::string_view script, const std::string& file, const std::string& words) {
  LineProcess process({.command = guarded_command(fmt::format("exec {} -c {} {} {}", shell_word(python_name()),
                                                              shell_word(script), shell_word(file), shell_word(words))),
                       .deadline_s = kReadingSeconds});
  process.start();
  const std::string line = process.receive();
  require_shallow_json(line, file);
  Problem described = Problem::parse(line, nullptr, false);
  if (!described.is_object()) refuse_problem(file, fmt::format("{} says '{}'", python_name(), line.substr(0, 200)));
  if (described.contains("error")) refuse_problem(file, described["error"].get<std::string>());
  return described;
}

void finish_problem(ForeignProblem& problem, Problem task, const std::string& reference, const std::string& file,
                    const std::string& maker) {
  problem.files.emplace(problem.task + "/reference.py", reference);
  const std::string place = problem.task + "/task.json";
  problem.files[place] = laid_out(task) + "\n";
  std::vector<std::string> made;
  const Task loaded = checked_task(problem, file);
  const auto cheapest = task["sets"]["vgpu"]["validated"][0].get<std::string>();
  for (Problem& input : task["inputs"]) {
    if (input.value("draw", "") != kMadeByReference) continue;
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
                                   fmt::join(made, ", "), kMadeByReference);
  for (const Problem& input : task["inputs"]) {
    if (holds_floats(input["dtype"].get<std::string>()) || input.contains("draw")) continue;
    problem.remarks +=
        fmt::format("input {} holds whole numbers: say in task.json how they are drawn (docs/templates.md)\n",
                    input["name"].get<std::string>());
  }
  problem.files[place] = laid_out(task) + "\n";
}

}  // namespace evo::cli
