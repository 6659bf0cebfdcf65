#include "cli/rivals/solution_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "cli/subject/json.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"

namespace evo::cli {
namespace {

constexpr std::size_t kListedWrong = 5;

std::string set_aside_text(const SolutionCheck& found) {
  if (found.set_aside == 0) return {};
  return fmt::format("; {} of {} cases set aside: rounding alone explains their errors", found.set_aside, found.cases);
}

}  // namespace

std::string solution_text(const SolutionCheck& found, const SolutionRequest& request, const Terminal& terminal) {
  std::string text =
      fmt::format("{}: {} under {}, {} cases\n", request.solution, request.task.name, found.version, found.cases);
  for (std::size_t i = 0; i < std::min(found.wrong.size(), kListedWrong); ++i) {
    const WrongCase& one = found.wrong[i];
    text += fmt::format("  shape {}, regime {}, seed {}: {}\n", one.shape, one.regime, one.seed, one_line(one.why));
  }
  if (found.wrong.size() > kListedWrong) text += fmt::format("  and {} more\n", found.wrong.size() - kListedWrong);
  if (found.wrong.empty())
    return text + fmt::format("{}, worst relative error {}{}\n", styled(terminal, Style::good, "right"),
                              error_figure(found.worst_relative_l2), set_aside_text(found));
  return text +
         fmt::format("{} in {} of {} cases\n", styled(terminal, Style::bad, "wrong"), found.wrong.size(), found.cases);
}

std::string solution_document(const SolutionCheck& found, const SolutionRequest& request) {
  Json json = json_document("verify");
  json["origin"] = request.solution;
  json["task"] = request.task.name;
  json["right"] = found.wrong.empty();
  json["cases"] = found.cases;
  json["set_aside"] = found.set_aside;
  json["relative_l2"] = found.worst_relative_l2;
  json["version"] = found.version;
  json["wrong"] = Json::array();
  for (const WrongCase& one : found.wrong)
    json["wrong"].push_back({{"shape", one.shape}, {"regime", one.regime}, {"seed", one.seed}, {"why", one.why}});
  return json_text(json);
}

std::string foreign_kernel_text(const Evaluation& found, const SolutionRequest& request, const Terminal& terminal) {
  const std::string origin =
      fmt::format("{}: {} on {}, as a candidate\n", request.solution, request.task.name, request.device.id);
  if (found.verdict != Verdict::valid)
    return origin + fmt::format("{}: {}: {}\n", styled(terminal, Style::bad, "wrong"), name_of(found.verdict),
                                one_line(reason_text(found)));
  std::string text = origin + fmt::format("{}, worst relative error {}\n", styled(terminal, Style::good, "right"),
                                          error_figure(found.worst_relative_l2));
  for (const Timing& timing : found.timings)
    text += fmt::format("  {} {}: {} us {}\n", timing.shape, timing.cold ? "cold" : "warm",
                        microseconds(timing.median_us), timing_word(timing.modelled));
  return text;
}

std::string foreign_kernel_document(const Evaluation& found, const SolutionRequest& request) {
  Json json = json_document("verify");
  json["origin"] = request.solution;
  json["task"] = request.task.name;
  json["right"] = found.verdict == Verdict::valid;
  json["found"] = evaluation_json(found);
  return json_text(json);
}

}  // namespace evo::cli
