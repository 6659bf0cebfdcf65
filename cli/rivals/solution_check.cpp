#include "cli/rivals/solution_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/rivals/case_files.h"
#include "cli/rivals/rival_commands.h"
#include "cli/rivals/rival_process.h"
#include "cli/text/files.h"
#include "cli/text/result_text.h"
#include "cli/text/shell_words.h"
#include "engine/base/error.h"
#include "evaluator/base/random.h"
#include "evaluator/judge/outside_answers.h"
#include "evaluator/judge/torch_process.h"

namespace evo::cli {
namespace {

/// The task's reference.py, where it has one, as a file in the folder.
std::string reference_argument(const SolutionRequest& request, const CaseFolder& folder) {
  const auto found = request.tree.find(request.task.name + "/reference.py");
  if (found == request.tree.end()) return {};
  write_file(folder / "reference.py", found->second);
  return " " + shell_word((folder / "reference.py").string());
}

std::string solution_command(const SolutionRequest& request, const CaseFolder& folder) {
  // What it builds goes with the folder.
  return fmt::format("TMPDIR={} exec {} {} {}{}", shell_word((folder / "").string()), shell_word(python_name()),
                     shell_word((rivals_folder() / "solution.py").string()),
                     shell_word(std::filesystem::absolute(request.solution).string()),
                     reference_argument(request, folder));
}

class SolutionRun {
 public:
  explicit SolutionRun(const SolutionRequest& request)
      : request_(request),
        answers_(options_of(request)),
        process_({{"solution", solution_command(request, folder_)}, request.deadline_s, {}, folder_ / "errors"},
                 task_message(request.task, request.target.options, shapes_of(answers_.cases()), request.device)) {}

  SolutionCheck run() {
    process_.begin();
    name_ = offered();
    for (const Case& one : answers_.cases().cases) check(one);
    return std::move(check_);
  }

 private:
  static PipelineOptions options_of(const SolutionRequest& request) {
    return {.task = request.task,
            .tree = request.tree,
            .target = request.target,
            .device = request.device,
            .salt = fresh_salt()};
  }

  static std::vector<Shape> shapes_of(const CasePlan& plan) {
    std::vector<Shape> shapes;
    for (const Case& one : plan.cases)
      if (std::ranges::find(shapes, one.shape.name, &Shape::name) == shapes.end()) shapes.push_back(one.shape);
    return shapes;
  }

  std::string offered() {
    std::string why = "it offers nothing";
    try {
      const std::vector<RivalOffer> offers = process_.offers();
      if (!offers.empty()) {
        check_.version = offers.front().version;
        return offers.front().name;
      }
    } catch (const RivalRefusal& refusal) {
      why = refusal.what();
    } catch (const LineFailure& failure) {
      why = failure.what();
    }
    throw machine_error(fmt::format("{} cannot be run: {}", request_.solution, why));
  }

  void check(const Case& one) {
    ++check_.cases;
    const CaseFiles files(folder_, "", request_.task, request_.target.options, one);
    std::string why = lost_.contains(one.shape.name) ? "not asked again after it was lost on this shape" : "";
    if (why.empty()) {
      try {
        process_.run(name_, one.shape.name, nlohmann::ordered_json::array({files.json()}));
        const Plan plan = outputs_plan(request_.task, request_.target.options, one.shape);
        const OutsideAnswer answer = answers_.judge(one, plan, files.outputs());
        check_.worst_relative_l2 = std::max(check_.worst_relative_l2, answer.relative_l2);
        if (answer.mismatch) why = fmt::format("{}: {}", answer.mismatch->output, miss_text(answer.mismatch->miss));
        if (why.empty() && answer.set_aside) ++check_.set_aside;
      } catch (const RivalRefusal& refusal) {
        why = refusal.what();
      } catch (const LineFailure& failure) {
        why = failure.what();
        lost_.insert(one.shape.name);
      }
    }
    files.remove();
    if (!why.empty()) check_.wrong.push_back({one.shape.name, one.regime.name, one.seed, why});
  }

  const SolutionRequest& request_;
  CaseFolder folder_;
  OutsideAnswers answers_;
  RivalProcess process_;
  std::string name_;
  std::set<std::string> lost_;  ///< Shapes on which the process was lost.
  SolutionCheck check_;
};

}  // namespace

SolutionCheck check_solution(const SolutionRequest& request) {
  return SolutionRun(request).run();
}

}  // namespace evo::cli
