#include "cli/subject/json.h"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "cli/subject/lookup.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "engine/record/record_json.h"

namespace evo::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A 64-bit number as text: a JSON reader that uses doubles would round it.
std::string hex(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

/// A record's fields, in their order.
template <class Record>
Json record_json(const Record& record) {
  return to_json<Json>(record);
}

template <class Record>
Json record_or_null(const std::optional<Record>& record) {
  return record ? record_json(*record) : Json(nullptr);
}

template <class Record>
Json records_json(const std::vector<Record>& records) {
  Json list = Json::array();
  for (const Record& record : records) list.push_back(record_json(record));
  return list;
}

/// What nobody knows is null.
void hide_unknown(Json& json, std::initializer_list<const char*> counts) {
  for (const char* count : counts)
    if (json[count] == 0) json[count] = nullptr;
}

Json timing_json(const Timing& timing, bool with_samples) {
  Json json = record_json(timing);
  json["timing"] = timing_word(timing.modelled);
  hide_unknown(json, {"sm_mhz_low", "sm_mhz_high", "memory_mhz", "temperature_c"});
  if (!with_samples) json.erase("samples_us");
  return json;
}

Json elite_json(const EliteRow& row) {
  return {{"rank", row.rank},
          {"candidate", row.candidate},
          {"run", row.run},
          {"task", row.task},
          {"task_hash", row.task_hash},
          {"current", row.current},
          {"self_consistent", row.self_consistent},
          {"device", device_json(row.device)},
          {"objective", row.objective},
          {"latency_us", row.latency_us},
          {"timing", timing_word(row.modelled)},
          {"timings", timings_json(row.timings, false)},
          {"relative_l2", row.worst_relative_l2},
          {"registers", row.registers},
          {"spill_bytes", row.spill_bytes},
          {"genome", genome_json(row.genome)},
          {"source_hash", row.source_hash},
          {"since", row.since}};
}

}  // namespace

Json value_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json bindings_json(const Bindings& bindings) {
  Json json = Json::object();
  for (const auto& [name, value] : bindings) json[name] = value_json(value);
  return json;
}

Json genome_json(const Genome& genome) {
  return {{"family", genome.family}, {"genes", bindings_json(genome.genes)}};
}

Json device_json(const DeviceRecord& device) {
  return {{"id", device.id},     {"kind", device.kind}, {"name", device.name},
          {"arch", device.arch}, {"uuid", device.uuid}, {"driver", device.driver}};
}

Json device_json(const DeviceInfo& device) {
  return device_json(record_of(device));
}

Json shapes_json(const std::vector<Shape>& shapes) {
  Json json = Json::array();
  for (const Shape& shape : shapes) json.push_back({{"name", shape.name}, {"sizes", bindings_json(shape.parameters)}});
  return json;
}

Json target_json(const Target& target) {
  return {{"objective", target.objective},
          {"options", bindings_json(target.options)},
          {"timed", shapes_json(target.timed)},
          {"validated", shapes_json(target.validated)}};
}

Json sitting_json(const Sitting& sitting) {
  Json rivals = Json::array();
  for (const RivalResult& rival : sitting.rivals) {
    Json ratio = nullptr;
    if (rival.median_us) ratio = {{"mean", rival.ratio}, {"low", rival.ratio_low}, {"high", rival.ratio_high}};
    Json json = record_json(rival);
    json["ratio"] = ratio;
    json.erase("ratio_low");
    json.erase("ratio_high");
    rivals.push_back(std::move(json));
  }
  const RivalResult* best = best_rival(sitting);
  return {{"candidate", sitting.candidate},
          {"device", device_json(sitting.device)},
          {"at", sitting.at},
          {"salt", hex(sitting.salt)},
          {"evo_version", sitting.evo_version},
          {"median_us", sitting.median_us},
          {"rounds_us", sitting.rounds_us},
          {"throttled", sitting.throttled},
          {"best_rival", best == nullptr ? Json(nullptr) : Json(best->name)},
          {"rivals", rivals}};
}

Json positive_or_null(double limit) {
  return limit > 0 ? Json(limit) : Json(nullptr);
}

Json timings_json(const std::vector<Timing>& timings, bool with_samples) {
  Json json = Json::array();
  for (const Timing& timing : timings) json.push_back(timing_json(timing, with_samples));
  return json;
}

Json evaluation_json(const Evaluation& evaluation) {
  const bool valid = evaluation.verdict == Verdict::valid;
  Json json = {{"verdict", name_of(evaluation.verdict)},
               {"reason", reason_text(evaluation)},
               {"latency_us", valid ? Json(evaluation.latency_us) : Json(nullptr)},
               {"relative_l2", evaluation.worst_relative_l2},
               {"salt", hex(evaluation.salt)}};
  json["timings"] = timings_json(evaluation.timings, true);
  json["mismatch"] = record_or_null(evaluation.mismatch);
  json["comparison"] = record_or_null(evaluation.comparison);
  json["builds"] = records_json(evaluation.builds);
  json["residency"] = records_json(evaluation.residency);
  json["cases"] = records_json(evaluation.errors);
  json["notes"] = evaluation.notes;
  const RanOn& place = evaluation.ran_on;
  json["ran_on"] = place.device.empty() ? Json(nullptr) : record_json(place);
  return json;
}

Json run_json(const RunRow& row) {
  const RunInfo& info = row.info;
  Json json = {{"id", row.id},
               {"task", info.task},
               {"task_hash", info.task_hash},
               {"device", device_json(info.device)},
               {"further_devices", Json::array()},
               {"answers", name_of(info.answers)},
               {"target", target_json(info.target)},
               {"objective", info.objective},
               {"family", info.family.empty() ? Json(nullptr) : Json(info.family)},
               {"strategy", info.strategy},
               {"seed", info.seed},
               {"salt", hex(info.salt)},
               {"width", info.width},
               {"screen", info.screen}};
  for (const DeviceRecord& further : info.further_devices) json["further_devices"].push_back(device_json(further));
  json["seeds"] = Json::array();
  for (const Seed& seed : info.seeds)
    json["seeds"].push_back({{"origin", seed.origin}, {"genome", genome_json(seed.genome)}});
  json["evaluation_limit"] = info.evaluation_limit > 0 ? Json(info.evaluation_limit) : Json(nullptr);
  json["time_limit_s"] = positive_or_null(info.time_limit_s);
  json["status"] = name_of(row.status);
  json["started_at"] = row.started_at;
  json["finished_at"] = row.finished_at.empty() ? Json(nullptr) : Json(row.finished_at);
  json["evaluated"] = row.evaluated;
  json["valid"] = row.valid;
  json["best_us"] = or_null(row.best_us);
  json["command_line"] = info.command;
  json["evo_version"] = info.evo_version;
  json["nvrtc_version"] = info.nvrtc_version;
  return json;
}

Json outcome_json(const OutcomeRow& row) {
  return {{"candidate", row.candidate},
          {"ticket", row.ticket},
          {"op", row.op},
          {"verdict", name_of(row.verdict)},
          {"latency_us", or_null(row.latency_us)},
          {"seconds", row.seconds}};
}

Json elites_json(const std::vector<EliteRow>& rows) {
  Json json = Json::array();
  for (const EliteRow& row : rows) json.push_back(elite_json(row));
  return json;
}

}  // namespace evo::cli
