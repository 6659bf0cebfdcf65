#include "cli/subject/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/subject/lookup.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "engine/expression/json_value.h"
#include "engine/record/record_json.h"

namespace evo::cli {
namespace {

/// A 64-bit number as text: a JSON reader that uses doubles would round it.
std::string hex(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

Json timing_json(const Timing& timing, bool with_samples) {
  Json json = to_json<Json>(timing);
  json["timing"] = timing_word(timing.modelled);
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
          {"genomes", row.genomes},
          {"source_hash", row.source_hash},
          {"since", row.since},
          {"provisional", is_provisional(row.checks)},
          {"checks", checks_json(row.checks)}};
}

}  // namespace

Json checks_json(const std::vector<EliteCheck>& checks) {
  Json json = Json::array();
  for (const EliteCheck& check : checks) json.push_back(to_json<Json>(check));
  return json;
}

Json value_json(const Value& value) {
  return to_json<Json>(value);
}

Json bindings_json(const Bindings& bindings) {
  return to_json<Json>(bindings);
}

Json genome_json(const Genome& genome) {
  return to_json<Json>(genome);
}

/// Its facts are many, and follow from the others.
Json device_json(const DeviceRecord& device) {
  Json json = to_json<Json>(device);
  json.erase("facts");
  return json;
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
  Json json = to_json<Json>(sitting);
  json["device"] = device_json(sitting.device);
  json["salt"] = hex(sitting.salt);
  const RivalResult* best = best_rival(sitting);
  json["best_rival"] = best == nullptr ? Json(nullptr) : Json(best->name);
  for (Json& rival : json["rivals"]) {
    const Json ratio = {{"mean", rival["ratio"]}, {"low", rival["ratio_low"]}, {"high", rival["ratio_high"]}};
    rival["ratio"] = rival["median_us"].is_null() ? Json(nullptr) : ratio;
    rival.erase("ratio_low");
    rival.erase("ratio_high");
  }
  return json;
}

Json positive_or_null(double limit) {
  return limit > 0 ? Json(limit) : Json(nullptr);
}

Json timings_json(const std::vector<Timing>& timings, bool with_samples) {
  return list_json(timings, [&](const Timing& timing) { return timing_json(timing, with_samples); });
}

Json evaluation_json(const Evaluation& evaluation) {
  Json json = to_json<Json>(evaluation);
  json["reason"] = reason_text(evaluation);
  if (evaluation.verdict != Verdict::valid) json["latency_us"] = nullptr;
  json["relative_l2"] = evaluation.worst_relative_l2;
  json["salt"] = hex(evaluation.salt);
  json["timings"] = timings_json(evaluation.timings, true);
  const RanOn& place = evaluation.ran_on;
  json["ran_on"] = place.device.empty() ? Json(nullptr) : to_json<Json>(place);
  for (const char* elsewhere : {"worst_relative_l2", "profiles", "device", "uuid", "host"}) json.erase(elsewhere);
  return json;
}

Json run_json(const RunRow& row) {
  const RunInfo& info = row.info;
  Json json = to_json<Json>(row);
  json["task"] = info.task;
  json["task_hash"] = info.task_hash;
  json["device"] = device_json(info.device);
  json["further_devices"] =
      list_json(info.further_devices, [&](const DeviceRecord& further) { return device_json(further); });
  json["target"] = target_json(info.target);
  json["objective"] = info.objective;
  if (info.family.empty()) json["family"] = nullptr;
  json["salt"] = hex(info.salt);
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
  return list_json(rows, elite_json);
}

}  // namespace evo::cli
