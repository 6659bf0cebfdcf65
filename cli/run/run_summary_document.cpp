#include <nlohmann/json.hpp>
#include <utility>

#include "cli/run/run_summary.h"
#include "cli/subject/json.h"
#include "cli/text/json_text.h"

// What `evo run --json` prints at its end (docs/json.md).
namespace evo::cli {
namespace {

Json hosts_json(const std::vector<HostShare>& shares) {
  Json json = Json::array();
  for (const HostShare& share : shares) json.push_back({{"host", share.host}, {"programs", share.programs}});
  return json;
}

Json device_shares_json(const DeviceShares& shares) {
  Json json = Json::array();
  for (const DeviceShare& share : shares.devices) {
    const auto& ratio = share.ratio;
    json.push_back({{"device", share.place.device},
                    {"uuid", share.place.uuid},
                    {"host", share.place.host},
                    {"evaluated", share.evaluated},
                    {"machine_failed", share.machine_failed},
                    {"ratio", ratio ? Json({{"mean", ratio->ratio}, {"low", ratio->low}, {"high", ratio->high}})
                                    : Json(nullptr)}});
  }
  return json;
}

}  // namespace

std::vector<OutcomeRow> proposed_outcomes(const Store& store, RunId run, std::uint64_t recalled) {
  std::vector<OutcomeRow> proposed;
  for (OutcomeRow& outcome : store.outcomes(run))
    if (outcome.op == "proposer" && outcome.ticket >= recalled) proposed.push_back(std::move(outcome));
  return proposed;
}

std::string run_document(const RunSummary& summary) {
  Json json = json_document("run");
  json["run"] = run_json(summary.run);
  json["self_consistent"] = summary.self_consistent;
  json["interrupted"] = summary.result.interrupted;
  json["exhausted"] = summary.result.exhausted;
  json["reached"] = summary.result.reached;
  json["settled"] = or_null(summary.result.settled);
  json["verdicts"] = Json::object();
  for (const auto& [verdict, count] : summary.verdicts) json["verdicts"][std::string(name_of(verdict))] = count;
  json["first_valid"] = summary.first_valid ? outcome_json(*summary.first_valid) : Json(nullptr);
  json["best"] = summary.best ? outcome_json(*summary.best) : Json(nullptr);
  json["improvement"] = or_null(summary.improvement());
  json["rejections"] = rejections_json(summary.rejections);
  json["elites"] = elites_json(summary.elites);
  json["front"] = elites_json(summary.front);
  json["seeds"] = seeds_json(summary.seeds);
  json["exchanges"] = exchanges_json(summary.exchanges);
  json["edits"] = edit_counts_json(summary.edits);
  json["proposed"] = list_json(summary.proposed, outcome_json);
  json["refused"] = list_json(summary.refused, [](const std::string& refusal) { return Json::parse(refusal); });
  json["devices"] = device_shares_json(summary.devices);
  json["modelled"] = hosts_json(summary.modelled);
  json["compiled"] = hosts_json(summary.compiled);
  json["times"] = times_json(summary.times);
  return json_text(json);
}

}  // namespace evo::cli
