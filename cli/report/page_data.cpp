#include "cli/report/page_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>

#include "cli/report/best_so_far.h"
#include "cli/report/elite_lineage.h"
#include "cli/report/floor_share.h"
#include "cli/report/lessons.h"
#include "cli/report/pareto_front.h"
#include "cli/report/prediction_pairs.h"
#include "cli/report/report_document.h"
#include "cli/report/run_report.h"
#include "cli/run/rejections.h"
#include "cli/subject/best_rival.h"
#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/task/limits.h"

namespace evo::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 6;                           ///< Of numbers that are drawn.
constexpr std::size_t kReasonBytes = 240;            ///< Of each candidate's reason.
constexpr std::size_t kMostReasonBytes = 1'000'000;  ///< Of all of them.
constexpr std::size_t kMostSourceNumbers = 250'000;  ///< Lines of all sources; each is a number.
constexpr std::size_t kKernels = 3;                  ///< Whose shares of the floor and ancestors are shown.

/// What the page is about.
struct Subject {
  std::vector<RunRow> runs;  ///< By number.
  std::vector<std::vector<OutcomeRow>> outcomes;
  std::vector<OutcomeRow> all;
  SourceTree files;
  Task task;
  Target target;
  DeviceRecord device;
  /// The fastest with different sources, kKernels at most. Elites come first: a candidate that was timed faster than an
  /// elite and is none has lost an interleaved comparison.
  std::vector<CandidateRow> best;
};

double rounded(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double scale = std::pow(10.0, kDigits - 1 - std::floor(std::log10(std::abs(value))));
  const double result = std::round(value * scale) / scale;
  return std::isfinite(result) ? result : value;
}

Json number_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(rounded(*value)) : Json(nullptr);
}

Json numbers_json(const std::vector<std::optional<double>>& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(number_json(value));
  return list;
}

/// At most `bytes`, not cut within a character.
std::string beginning(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

/// Gives each different text a number, in the order of their first appearance.
class Numbered {
 public:
  std::size_t of(const std::string& text) {
    const auto [found, fresh] = numbers_.try_emplace(text, texts_.size());
    if (fresh) texts_.push_back(text);
    return found->second;
  }
  const Json& texts() const { return texts_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  Json texts_ = Json::array();
};

// --- the subject

/// The valid ones, the fastest first.
std::vector<OutcomeRow> by_latency(std::vector<OutcomeRow> outcomes) {
  std::erase_if(outcomes, [](const OutcomeRow& one) { return one.verdict != Verdict::valid || !one.latency_us; });
  std::ranges::stable_sort(outcomes, {}, [](const OutcomeRow& one) { return *one.latency_us; });
  return outcomes;
}

std::vector<CandidateRow> fastest(const Store& store, const std::string& task_hash,
                                  const std::vector<OutcomeRow>& outcomes) {
  std::set<CandidateId> elites;
  for (const EliteRow& elite : store.elites({.task_hash = task_hash})) elites.insert(elite.candidate);
  std::vector<OutcomeRow> ranked = by_latency(outcomes);
  std::ranges::stable_partition(ranked, [&](const OutcomeRow& one) { return elites.contains(one.candidate); });
  std::vector<CandidateRow> rows;
  std::set<std::string> sources;
  for (const OutcomeRow& one : ranked) {
    if (rows.size() == kKernels) break;
    CandidateRow row = find_candidate(store, one.candidate);
    if (sources.insert(row.source_hash).second) rows.push_back(std::move(row));
  }
  return rows;
}

void refuse_other_board(const RunInfo& first, const RunRow& other) {
  const RunInfo& info = other.info;
  const auto refuse = [&](std::string_view what, const std::string& a, const std::string& b) {
    throw usage_error(fmt::format(
        "run {} is of another {} ({}, not {}): a page shows runs that compete with each other", other.id, what, b, a));
  };
  if (info.task != first.task) refuse("task", first.task, info.task);
  if (info.task_hash != first.task_hash) refuse("version of the task", first.task_hash, info.task_hash);
  if (device_key(info.device) != device_key(first.device)) refuse("device", first.device.name, info.device.name);
  if (info.objective != first.objective) refuse("objective", first.objective, info.objective);
}

Subject subject_of(const Store& store, std::vector<RunId> runs) {
  std::ranges::sort(runs);
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  Subject subject;
  for (const RunId id : runs) {
    RunRow run = find_run(store, id);
    if (!subject.runs.empty()) refuse_other_board(subject.runs.front().info, run);
    subject.runs.push_back(std::move(run));
    subject.outcomes.push_back(store.outcomes(id));
    subject.all.insert(subject.all.end(), subject.outcomes.back().begin(), subject.outcomes.back().end());
  }
  const RunInfo& info = subject.runs.front().info;
  subject.files = files_of(store, subject.runs.front());
  subject.task = load_task(subject.files, info.task);
  subject.target = info.target;
  subject.device = info.device;
  subject.best = fastest(store, info.task_hash, subject.all);
  return subject;
}

const Space& space_of(const Subject& subject, PageSpace& kept) {
  const RunRow& first = subject.runs.front();
  const auto same = [&](const RunRow& run) { return run.info.family == first.info.family; };
  const std::string family = std::ranges::all_of(subject.runs, same) ? first.info.family : "";
  if (!kept.space || kept.run != first.id || kept.family != family)
    kept = {first.id, family,
            make_space(subject.files, subject.task, known_to_space(first.info.device, first.info.target),
                       first.info.target, family)};
  return *kept.space;
}

// --- the first screen

Json limits_json(const Subject& subject) {
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

/// The comparison with the elite that it displaced, or failed to; empty: there was none.
std::string comparison_note(const CandidateRow& row) {
  return row.evaluation.comparison ? comparison_text(*row.evaluation.comparison) : "";
}

Json best_json(const Store& store, const Subject& subject) {
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

// --- runs

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

Json curves_json(const Subject& subject, bool over_time) {
  std::vector<BestCurve> curves;
  for (const auto& outcomes : subject.outcomes) curves.push_back(curve_of(outcomes, over_time));
  const BestCurves all = joined(curves);
  Json json;
  json["at"] = Json::array();
  for (const double at : all.at) json["at"].push_back(rounded(at));
  json["runs"] = Json::array();
  for (const auto& run : all.runs) json["runs"].push_back(numbers_json(run));
  json["median"] = numbers_json(all.median);
  json["least"] = numbers_json(all.least);
  json["largest"] = numbers_json(all.largest);
  return json;
}

/// What is left after each step on the way to a valid candidate, and which verdicts end there.
Json funnel_json(const std::vector<OutcomeRow>& outcomes) {
  const std::vector<std::pair<std::string, std::vector<Verdict>>> steps = {
      {"a new program", {Verdict::duplicate}},
      {"legal", {Verdict::illegal}},
      {"compiles and fits", {Verdict::compile_failed, Verdict::over_resources, Verdict::unsupported}},
      {"runs to its end", {Verdict::launch_failed, Verdict::crashed, Verdict::timed_out}},
      {"right and repeatable", {Verdict::wrong_answer, Verdict::unrepeatable}},
      {"timed and believed", {Verdict::impossible_time, Verdict::harness_failed}}};
  std::map<Verdict, std::uint64_t> counts;
  for (const OutcomeRow& one : outcomes) ++counts[one.verdict];
  std::uint64_t left = outcomes.size();
  Json list = Json::array();
  list.push_back({{"step", "proposed"}, {"left", left}, {"lost", Json::object()}});
  for (const auto& [step, verdicts] : steps) {
    Json lost = Json::object();
    for (const Verdict verdict : verdicts) {
      if (counts[verdict] == 0) continue;
      lost[std::string(name_of(verdict))] = counts[verdict];
      left -= counts[verdict];
    }
    list.push_back({{"step", step}, {"left", left}, {"lost", lost}});
  }
  return list;
}

// --- candidates, in columns

/// A genome's alleles as places in the lists of its family's values; -1 where it lacks the gene.
class AlleleColumns {
 public:
  explicit AlleleColumns(const std::vector<FamilyReport>& families) {
    for (const FamilyReport& family : families)
      for (const GeneWorth& gene : family.genes) {
        Column& column = family_of(family.family).columns[gene.gene];
        for (const AlleleWorth& one : gene.alleles) place_of(column, one.allele);
      }
  }
  std::size_t add(const Genome& genome) {
    Family& family = family_of(genome.family);
    for (const auto& [gene, allele] : genome.genes) {
      Column& column = family.columns[gene];
      while (column.places.size() < family.members) column.places.push_back(-1);
      column.places.push_back(place_of(column, allele));
    }
    ++family.members;
    return family.number;
  }
  Json json() {
    std::vector<Json> list(families_.size());
    for (auto& [name, family] : families_) {
      Json genes = Json::object();
      for (auto& [gene, column] : family.columns) {
        while (column.places.size() < family.members) column.places.push_back(-1);
        genes[gene] = {{"values", column.values}, {"alleles", column.places}};
      }
      list[family.number] = {{"family", name}, {"genes", genes}};
    }
    return list;
  }

 private:
  struct Column {
    std::map<std::string, int> known;
    Json values = Json::array();
    std::vector<int> places;
  };
  struct Family {
    std::size_t number = 0;
    std::size_t members = 0;
    std::map<std::string, Column> columns;
  };
  Family& family_of(const std::string& name) {
    const auto [found, fresh] = families_.try_emplace(name);
    if (fresh) found->second.number = families_.size() - 1;
    return found->second;
  }
  static int place_of(Column& column, const Value& value) {
    const auto [found, fresh] =
        column.known.try_emplace(expr::to_string(value), static_cast<int>(column.values.size()));
    if (fresh) column.values.push_back(value_json(value));
    return found->second;
  }
  std::map<std::string, Family> families_;
};

Json candidates_json(const Subject& subject, AlleleColumns& alleles) {
  Json json;
  for (const char* column : {"id", "run", "evaluation", "seconds", "verdict", "op", "family", "parent", "latency_us",
                             "relative_l2", "reason"})
    json[column] = Json::array();
  Numbered ops, reasons;
  reasons.of("");
  std::size_t reason_bytes = 0;
  for (std::size_t run = 0; run < subject.runs.size(); ++run) {
    std::uint64_t evaluation = 0;
    for (const OutcomeRow& one : subject.outcomes[run]) {
      json["id"].push_back(one.candidate);
      json["run"].push_back(run);
      json["evaluation"].push_back(++evaluation);
      json["seconds"].push_back(rounded(one.seconds));
      json["verdict"].push_back(static_cast<int>(one.verdict));
      json["op"].push_back(ops.of(one.op));
      json["family"].push_back(alleles.add(one.genome));
      json["parent"].push_back(one.first_parent.value_or(0));
      json["latency_us"].push_back(number_json(one.latency_us));
      json["relative_l2"].push_back(one.latency_us ? number_json(one.worst_relative_l2) : Json(nullptr));
      std::string reason = beginning(one_line(reason_text(one.reason, one.mismatch)), kReasonBytes);
      if (reason_bytes + reason.size() > kMostReasonBytes)
        reason = fmt::format("evo show {} has the reason", one.candidate);
      reason_bytes += reason.size();
      json["reason"].push_back(reasons.of(reason));
    }
  }
  json["ops"] = ops.texts();
  json["reasons"] = reasons.texts();
  return json;
}

// --- kernels

Json shares_json(const Subject& subject) {
  const auto device = rates_of(subject.device);
  if (!device || subject.best.empty()) return Json::array();
  Json list = Json::array();
  for (const ShapeShare& share : shares_of(subject.task, subject.target, *device, subject.best)) {
    Json kernels = Json::array();
    for (const KernelShare& kernel : share.kernels) {
      Json one = {{"candidate", kernel.candidate}, {"latency_us", kernel.latency_us}, {"share", kernel.share}};
      one["counted"] = nullptr;
      if (const auto& counted = kernel.counted)
        one["counted"] = {{"timing", timing_word(counted->modelled)},
                          {"duration_us", counted->duration_us},
                          {"share", counted->share},
                          {"tensor_percent", or_null(counted->tensor_percent)},
                          {"memory_percent", or_null(counted->memory_percent)},
                          {"bound", counted->bound}};
      kernels.push_back(std::move(one));
    }
    list.push_back({{"shape", share.shape},
                    {"flops", share.work.flops},
                    {"bytes", share.work.bytes},
                    {"arithmetic_us", share.floor.arithmetic_us},
                    {"memory_us", share.floor.memory_us},
                    {"launch_us", share.floor.launch_us},
                    {"floor_us", share.floor.us()},
                    {"bound", share.floor.bound()},
                    {"kernels", kernels}});
  }
  return list;
}

/// Lines that sources share are kept once: a source is a list of their numbers.
Json lineage_json(const Store& store, const Subject& subject) {
  std::vector<CandidateId> elites;
  for (const CandidateRow& row : subject.best) elites.push_back(row.id);
  Numbered lines;
  std::size_t numbers = 0;
  Json nodes = Json::array();
  for (const LineageNode& node : elite_lineage(store, elites)) {
    Json one = {{"candidate", node.candidate},
                {"parent", or_null(node.parent)},
                {"further", node.further},
                {"op", node.op},
                {"verdict", name_of(node.verdict)},
                {"latency_us", number_json(node.latency_us)},
                {"rank", node.rank},
                {"genome", genome_json(node.genome)}};
    one["changes"] = Json::array();
    for (const GeneDifference& change : node.changes)
      one["changes"].push_back({change.gene, allele_text(change.a), allele_text(change.b)});
    const auto in_lines = [&](const std::string& text) {
      Json list = Json::array();
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        list.push_back(lines.of(text.substr(begin, end - begin)));
        begin = end + 1;
      }
      numbers += list.size();
      return list;
    };
    const bool room = numbers < kMostSourceNumbers;
    one["source"] = room && !node.source.empty() ? in_lines(node.source) : Json(nullptr);
    one["source_change"] = room && !node.source_change.empty() ? in_lines(node.source_change) : Json(nullptr);
    nodes.push_back(std::move(one));
  }
  return {{"nodes", nodes}, {"lines", lines.texts()}};
}

Json predictions_json(const Predictions& predictions) {
  Json json = {{"model", predictions.model},      {"candidate", Json::array()},
               {"predicted_us", Json::array()},   {"measured_us", Json::array()},
               {"failed", predictions.failed},    {"rank_correlation", number_json(predictions.rank_correlation)},
               {"why_none", predictions.why_none}};
  for (const PredictionPair& pair : predictions.pairs) {
    json["candidate"].push_back(pair.candidate);
    json["predicted_us"].push_back(rounded(pair.predicted_us));
    json["measured_us"].push_back(rounded(pair.measured_us));
  }
  return json;
}

/// Those of the best candidate's newest sitting on that model of device whose answers were right.
std::vector<Rival> stored_rivals(const Subject& subject) {
  std::vector<Rival> rivals;
  if (subject.best.empty()) return rivals;
  for (const Sitting& sitting : subject.best.front().sittings) {
    if (device_key(sitting.device) != device_key(subject.device)) continue;
    for (const RivalResult& one : sitting.rivals)
      if (one.verdict == Verdict::valid && one.median_us)
        rivals.push_back({subject.target.timed.front().name,
                          {.name = one.name, .latency_us = *one.median_us, .error = one.relative_l2.value_or(0)}});
    break;
  }
  return rivals;
}

/// The fastest first. A latency over several shapes has none.
Json rivals_json(const Subject& subject, const std::vector<std::string>& files) {
  std::vector<Rival> rivals = read_rivals(files);
  std::ranges::move(stored_rivals(subject), std::back_inserter(rivals));
  const std::vector<Shape>& timed = subject.target.timed;
  std::erase_if(rivals, [&](const Rival& one) { return timed.size() != 1 || one.shape != timed.front().name; });
  std::ranges::stable_sort(rivals, {}, [](const Rival& one) { return one.point.latency_us; });
  Json list = Json::array();
  for (const Rival& one : rivals)
    list.push_back({{"name", one.point.name}, {"latency_us", one.point.latency_us}, {"error", one.point.error}});
  if (list.empty() && !files.empty())
    throw usage_error(fmt::format("--rivals: none was timed at {}, the runs' only shape or shapes",
                                  fmt::join(timed | std::views::transform(&Shape::name), ", ")));
  return list;
}

Json questions_json(const Store& store, const Subject& subject, const Space& space) {
  Json list = Json::array();
  if (subject.runs.size() == 1)
    for (const std::string& question : report_of(store, subject.runs.front(), space).questions)
      list.push_back(question);
  return list;
}

}  // namespace

Json page_data(const Store& store, const std::vector<RunId>& runs, std::size_t predicted,
               const std::vector<std::string>& rivals, PageSpace* kept) {
  PageSpace own;
  const Subject subject = subject_of(store, runs);
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
    json["verdicts"].push_back({{"name", name_of(verdict.verdict)}, {"meaning", verdict.meaning}});
  json["best"] = best_json(store, subject);
  json["rivals"] = rivals_json(subject, rivals);
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
  const Space& space = space_of(subject, kept != nullptr ? *kept : own);
  const std::vector<FamilyReport> families = family_reports(space, subject.all);
  json["families"] = Json::array();
  for (const FamilyReport& family : families) json["families"].push_back(family_json(family));
  AlleleColumns alleles(families);
  json["candidates"] = candidates_json(subject, alleles);
  json["genomes"] = alleles.json();
  json["floors"] = shares_json(subject);
  json["lineage"] = lineage_json(store, subject);
  json["predictions"] = predictions_json(predictions_of(store, subject.runs.front(), subject.all, predicted));
  json["questions"] = questions_json(store, subject, space);
  json["lessons"] = lesson_lines(lessons_of(store, info, std::nullopt, space));
  return json;
}

}  // namespace evo::cli
