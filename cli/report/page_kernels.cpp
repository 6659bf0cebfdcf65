#include "cli/report/page_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "cli/report/elite_lineage.h"
#include "cli/report/floor_share.h"
#include "cli/report/page_json.h"
#include "cli/report/pareto_front.h"
#include "cli/subject/json.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

constexpr std::size_t kMostSourceNumbers = 250'000;    ///< Lines of all sources; each is a number.
constexpr std::size_t kMostExchangeBytes = 8'000'000;  ///< Of different lines of prompts and answers.

/// Texts whose lines are kept once: each is a list of their numbers.
class NumberedLines {
 public:
  Json of(const std::string& text) {
    Json list = Json::array();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::size_t known = lines_.texts().size();
      list.push_back(lines_.of(text.substr(begin, end - begin)));
      if (lines_.texts().size() > known) bytes_ += end - begin;
      begin = end + 1;
    }
    numbers_ += list.size();
    return list;
  }
  std::size_t numbers() const { return numbers_; }
  std::size_t bytes() const { return bytes_; }
  const std::vector<std::string>& lines() const { return lines_.texts(); }

 private:
  Numbered lines_;
  std::size_t numbers_ = 0;
  std::size_t bytes_ = 0;
};

/// Those of the best candidate's newest sitting on that model of device whose answers were right.
std::vector<Rival> stored_rivals(const PageSubject& subject) {
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

}  // namespace

nlohmann::ordered_json page_floors_json(const PageSubject& subject) {
  const auto device = rates_of(subject.device);
  if (!device || subject.files.empty() || subject.best.empty()) return Json::array();
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
                    {"peak_flops", device->peak_tflops(parse_dtype(subject.task.math)) * 1e12},
                    {"memory_bytes_per_s", device->memory_gbytes_per_s * 1e9},
                    {"kernels", kernels}});
  }
  return list;
}

nlohmann::ordered_json lineage_json(const Store& store, const PageSubject& subject) {
  std::vector<CandidateId> elites;
  for (const CandidateRow& row : subject.best) elites.push_back(row.id);
  NumberedLines lines;
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
    const bool room = lines.numbers() < kMostSourceNumbers;
    one["source"] = room && !node.source.empty() ? lines.of(node.source) : Json(nullptr);
    one["source_change"] = room && !node.source_change.empty() ? lines.of(node.source_change) : Json(nullptr);
    nodes.push_back(std::move(one));
  }
  return {{"nodes", nodes}, {"lines", lines.lines()}};
}

nlohmann::ordered_json exchanges_json(const Store& store, const PageSubject& subject) {
  NumberedLines lines;
  Json list = Json::array();
  for (const RunRow& run : subject.runs)
    for (const ExchangeRow& row : store.exchanges(run.id)) {
      const ExchangeRecord& exchange = row.exchange;
      Json one = {{"run", run.id},
                  {"at", row.at},
                  {"model", exchange.model},
                  {"prompt_tokens", exchange.prompt_tokens},
                  {"answer_tokens", exchange.answer_tokens},
                  {"cost", exchange.cost},
                  {"seconds", exchange.seconds},
                  {"failure", exchange.failure},
                  {"candidates", row.candidates}};
      const bool room = lines.bytes() < kMostExchangeBytes && lines.numbers() < kMostSourceNumbers;
      one["prompt"] = room ? lines.of(exchange.prompt) : Json(nullptr);
      one["answer"] = room ? lines.of(exchange.answer) : Json(nullptr);
      list.push_back(std::move(one));
    }
  return {{"list", list}, {"lines", lines.lines()}};
}

nlohmann::ordered_json predictions_json(const Predictions& predictions) {
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

nlohmann::ordered_json rivals_json(const PageSubject& subject, const std::vector<std::string>& files) {
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

}  // namespace evo::cli
