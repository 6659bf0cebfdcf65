#include "cli/report/page_data.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/report/best_so_far.h"
#include "cli/report/explanations.h"
#include "cli/report/lessons.h"
#include "cli/report/page_candidates.h"
#include "cli/report/page_json.h"
#include "cli/report/page_kernels.h"
#include "cli/report/page_subject.h"
#include "cli/report/prediction_pairs.h"
#include "cli/report/report_document.h"
#include "cli/report/run_report.h"
#include "cli/run/rejections.h"
#include "cli/subject/best_rival.h"
#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "engine/device/device_kind.h"
#include "engine/record/enumerators.h"
#include "engine/task/limits.h"
#include "population/results/import.h"

namespace evo::cli {
namespace {

const Space& space_of(const PageSubject& subject, PageSpace& kept) {
  const RunRow& first = subject.runs.front();
  const auto same = [&](const RunRow& run) { return run.info.family == first.info.family; };
  const std::string family = std::ranges::all_of(subject.runs, same) ? first.info.family : "";
  if (!kept.space || kept.run != first.id || kept.family != family)
    kept = {first.id, family,
            make_space(subject.files, subject.task, known_to_space(first.info.device, first.info.target),
                       first.info.target, family)};
  return *kept.space;
}

Json limits_json(const PageSubject& subject) {
  if (subject.files.empty()) return Json::array();
  const Limits& objective = limits_of(subject.task, subject.target);
  Json list = Json::array();
  for (const Tensor& output : subject.task.outputs) {
    if (!is_present(output, subject.target.options)) continue;
    const Limits limits = limits_of_output(subject.task, output, subject.target.options, objective);
    const bool emulated = limits.emulated_l2.times > 0;
    Json one = {{"output", output.name},
                {"exact", limits.exact},
                {"relative_l2", emulated ? Json(nullptr) : positive_or_null(limits.relative_l2)}};
    one["emulation"] = emulated ? Json{{"times", limits.emulated_l2.times}, {"plus", limits.emulated_l2.plus}} : Json();
    list.push_back(std::move(one));
  }
  return list;
}

/// The candidates of the front that the runs' board keeps; empty where no run keeps one.
Json kept_front_json(const Store& store, const PageSubject& subject) {
  Json ids = Json::array();
  if (std::ranges::none_of(subject.runs, [](const RunRow& run) { return run.info.keeps_front; })) return ids;
  for (const EliteRow& row : front_of_board(store, subject.runs.front().info)) ids.push_back(row.candidate);
  return ids;
}

/// The comparison with the elite that it displaced, or failed to; empty: there was none.
std::string comparison_note(const CandidateRow& row) {
  return row.evaluation.comparison ? comparison_text(*row.evaluation.comparison) : "";
}

Json best_json(const Store& store, const PageSubject& subject) {
  if (subject.best.empty()) return nullptr;
  const CandidateRow& best = subject.best.front();
  const std::vector<OutcomeRow> ranked = by_latency(subject.all);
  const auto run = std::ranges::find(subject.runs, best.run, &RunRow::id) - subject.runs.begin();
  const auto& outcomes = subject.outcomes[static_cast<std::size_t>(run)];
  const auto first = std::ranges::find_if(outcomes, [](const OutcomeRow& one) { return one.latency_us.has_value(); });
  std::set<std::string> shapes, regimes;
  for (const CaseError& error : best.evaluation.errors) {
    shapes.insert(error.shape);
    regimes.insert(error.regime);
  }
  Json json = {{"candidate", best.id},
               {"run", best.run},
               {"genome", genome_json(best.genome)},
               {"op", best.op},
               {"latency_us", best.evaluation.latency_us},
               {"timings", timings_json(best.evaluation.timings, false)},
               {"relative_l2", best.evaluation.worst_relative_l2},
               {"cases", best.evaluation.errors.size()},
               {"shapes", shapes},
               {"regimes", regimes},
               {"elite_rank", or_null(best.elite_rank)},
               {"reservation", best.elite_rank ? reservation_about(best.checks) : ""},
               {"first_valid", {{"candidate", first->candidate}, {"latency_us", *first->latency_us}}},
               {"median_valid_us", *ranked[ranked.size() / 2].latency_us},
               {"comparison", comparison_note(best)}};
  const std::string rivals = best_rival_text(best.sittings, subject.device);
  json["rivals"] = rivals.empty() ? Json(nullptr) : Json(rivals);
  const OutcomeRow& first_timed = ranked.front();
  json["timed_faster"] = nullptr;
  if (*first_timed.latency_us < best.evaluation.latency_us)
    json["timed_faster"] = {{"candidate", first_timed.candidate},
                            {"latency_us", *first_timed.latency_us},
                            {"comparison", comparison_note(find_candidate(store, first_timed.candidate))}};
  json["second_us"] = subject.best.size() > 1 ? Json(subject.best[1].evaluation.latency_us) : Json(nullptr);
  const KernelBuild largest = largest_of(best.evaluation.builds);
  json["registers"] = largest.registers;
  json["spill_bytes"] = largest.spill_bytes;
  const auto selftest = store.last_selftest(subject.task.hash, subject.device.kind);
  json["selftest"] = selftest ? Json{{"passed", selftest->passed},
                                     {"judged", selftest->judged},
                                     {"wrong", selftest->wrong},
                                     {"at", selftest->at}}
                              : Json(nullptr);
  return json;
}

Json numbers_json(const std::vector<std::optional<double>>& values) {
  return list_json(values, number_json);
}

BestCurve curve_of(const std::vector<OutcomeRow>& outcomes, bool over_time) {
  BestCurve curve;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const double at = over_time ? outcomes[i].seconds : static_cast<double>(i + 1);
    curve.end = std::max(curve.end, at);
    const auto& latency = outcomes[i].latency_us;
    if (latency && (curve.steps.empty() || *latency < curve.steps.back().latency_us))
      curve.steps.push_back({curve.end, *latency});
  }
  return curve;
}

Json curves_json(const PageSubject& subject, bool over_time) {
  std::vector<BestCurve> curves;
  for (const auto& outcomes : subject.outcomes) curves.push_back(curve_of(outcomes, over_time));
  const BestCurves all = curves_together(curves);
  Json json;
  json["at"] = Json::array();
  for (const double at : all.at) json["at"].push_back(rounded(at));
  json["runs"] = list_json(all.runs, numbers_json);
  json["median"] = numbers_json(all.median);
  json["least"] = numbers_json(all.least);
  json["largest"] = numbers_json(all.largest);
  return json;
}

/// What is left after each step on the way to a valid candidate, and which verdicts end there.
Json funnel_json(const std::vector<OutcomeRow>& outcomes) {
  static constexpr auto kSteps =
      std::to_array<std::pair<VerdictStage, const char*>>({{VerdictStage::duplicate, "a new program"},
                                                           {VerdictStage::illegal, "legal"},
                                                           {VerdictStage::built, "compiles and fits"},
                                                           {VerdictStage::ran, "runs to its end"},
                                                           {VerdictStage::wrong, "right and repeatable"},
                                                           {VerdictStage::timed, "timed and believed"}});
  static_assert(kSteps.size() + 1 == kEnumerators<VerdictStage>, "each stage but `valid` is a step");
  std::map<Verdict, std::uint64_t> counts;
  for (const OutcomeRow& one : outcomes) ++counts[one.verdict];
  std::uint64_t left = outcomes.size();
  Json list = Json::array();
  list.push_back({{"step", "proposed"}, {"left", left}, {"lost", Json::object()}});
  for (const auto& [stage, step] : kSteps) {
    Json lost = Json::object();
    for (const auto& [verdict, count] : counts) {
      if (info_of(verdict).stage != stage) continue;
      lost[std::string(name_of(verdict))] = count;
      left -= count;
    }
    list.push_back({{"step", step}, {"left", left}, {"lost", lost}});
  }
  return list;
}

Json questions_json(const Store& store, const PageSubject& subject, const Space* space) {
  Json list = Json::array();
  if (subject.runs.size() == 1)
    for (const std::string& question : report_of(store, subject.runs.front(), space).questions)
      list.push_back(question);
  return list;
}

}  // namespace

Json page_data(const Store& store, const std::vector<RunId>& runs, const PageWishes& wanted, PageSpace* kept) {
  PageSpace own;
  const PageSubject subject = page_subject(store, runs);
  const RunInfo& info = subject.runs.front().info;
  Json json = json_document("report");
  json["task"] = {{"name", subject.task.name},
                  {"summary", subject.task.summary},
                  {"hash", subject.task.hash},
                  {"self_consistent", subject.task.self_consistent}};
  json["device"] = device_json(subject.device);
  json["timing"] = timing_word(kind_named(subject.device.kind).modelled);
  json["objective"] = info.objective;
  json["limits"] = limits_json(subject);
  json["verdicts"] = Json::array();
  for (const VerdictInfo& verdict : verdicts())
    json["verdicts"].push_back(
        {{"name", name_of(verdict.verdict)}, {"stage", name_of(verdict.stage)}, {"meaning", verdict.meaning}});
  const bool imported = info.strategy == kImported;
  json["imported"] = imported;
  json["front"] = kept_front_json(store, subject);
  json["best"] = best_json(store, subject);
  json["rivals"] = rivals_json(subject, wanted.rivals);
  json["runs"] = Json::array();
  for (std::size_t i = 0; i < subject.runs.size(); ++i) {
    Json run = run_json(subject.runs[i]);
    run["phases"] = phases_json(phase_sums(subject.outcomes[i]));
    json["runs"].push_back(std::move(run));
  }
  json["by_evaluations"] = curves_json(subject, false);
  json["by_seconds"] = curves_json(subject, true);
  json["funnel"] = funnel_json(subject.all);
  json["rejections"] = rejections_json(rejections_of(subject.all));
  const Space* space = subject.files.empty() ? nullptr : &space_of(subject, kept != nullptr ? *kept : own);
  const std::vector<FamilyReport> families =
      space != nullptr ? family_reports(*space, subject.all) : recorded_family_reports(subject.all);
  json["families"] = list_json(families, family_json);
  add_candidates(json, subject, families);
  json["floors"] = page_floors_json(subject);
  json["lineage"] = lineage_json(store, subject);
  json["exchanges"] = exchanges_json(store, subject);
  json["predictions"] = predictions_json(predictions_of(store, subject.runs.front(), subject.all, wanted.predicted));
  json["explanations"] = explanations_json(store, subject, wanted.explained);
  json["questions"] = questions_json(store, subject, space);
  json["lessons"] =
      space != nullptr ? Json(lesson_lines(lessons_of(store, info, std::nullopt, *space))) : Json::array();
  return json;
}

}  // namespace evo::cli
