#include "cli/proposer/proposer_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/model/profile_report.h"
#include "cli/subject/json.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "evaluator/pipeline/gates.h"

namespace evo::cli {
namespace {

constexpr std::size_t kReported = 8;              // of failures and of a proposer's own candidates, the latest
constexpr std::size_t kLongestSource = 64 << 10;  // bytes of an elite's source
constexpr const char* kProposerOperator = "proposer";

std::string message_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json genes_json(const Family& family) {
  Json genes = Json::array();
  for (const Gene& gene : family.genes) {
    Json alleles = list_json(gene.alleles, value_json);
    genes.push_back({{"name", gene.name},
                     {"alleles", alleles},
                     {"slot", names_files(gene)},
                     {"when", gene.when.text()},
                     {"doc", gene.doc}});
  }
  return genes;
}

Json family_json(const Family& family) {
  Json derived = Json::object();
  for (const Derived& value : family.derived) derived[value.name] = value.value.text();
  Json constraints = Json::array();
  for (const Constraint& constraint : family.constraints)
    constraints.push_back({{"condition", constraint.condition.text()}, {"why", constraint.why}});
  return {{"name", family.name},
          {"summary", family.summary},
          {"genes", genes_json(family)},
          {"derived", derived},
          {"constraints", constraints}};
}

Json floors_json(const Task& task, const Target& target, const std::optional<DeviceInfo>& rates) {
  Json floors = Json::array();
  if (!rates) return floors;
  for (const Shape& shape : target.timed) {
    const PhysicalFloor floor = physical_floor(task, target.options, shape, *rates, false);
    floors.push_back({{"shape", shape.name}, {"us", floor.us()}, {"bound", floor.bound()}});
  }
  return floors;
}

Json greeting_json(const Task& task, const Target& target, const Space& space, const DeviceInfo& device,
                   const SourceTree& files, const ProposerBriefing& briefing) {
  Json shapes = Json::object();
  for (const Shape& shape : target.timed) shapes[shape.name] = bindings_json(shape.parameters);
  Json families = list_json(space.families(), family_json);
  return {{"type", "task"},
          {"task", task.name},
          {"summary", task.summary},
          {"objective", target.objective},
          {"options", bindings_json(target.options)},
          {"shapes", shapes},
          {"device", {{"name", device.name}, {"arch", device.arch}, {"facts", bindings_json(facts_of(device.limits))}}},
          {"floors", floors_json(task, target, briefing.rates)},
          {"lessons", briefing.lessons},
          {"families", families},
          {"files", files}};
}

/// The geometric mean over the timed shapes of floor over latency; empty: a floor or a timing is missing.
std::optional<double> share_of_floor(const std::map<std::string, double>& floors_us, const Evaluation& evaluation) {
  double logarithms = 0;
  std::size_t counted = 0;
  for (const Timing& timing : evaluation.timings) {
    const auto floor = floors_us.find(timing.shape);
    if (timing.cold || floor == floors_us.end() || timing.median_us <= 0) continue;
    logarithms += std::log(floor->second / timing.median_us);
    ++counted;
  }
  if (counted == 0 || counted < floors_us.size()) return std::nullopt;
  return std::exp(logarithms / static_cast<double>(counted));
}

/// Occupancy, and what bounds it where its counters were read.
std::string profile_words(const Evaluation& evaluation) {
  const std::string bounds = bounds_text(evaluation.profiles);
  return residency_text(evaluation.residency) + bounds;
}

Json elite_json(const Proposal& proposal, const Evaluation& evaluation, std::optional<double> floor_share) {
  const KernelBuild largest = largest_of(evaluation.builds);
  const double error = evaluation.worst_relative_l2;
  return {{"ticket", proposal.ticket},
          {"genome", genome_json(proposal.genome)},
          {"latency_us", evaluation.latency_us},
          {"floor_share", floor_share ? Json(*floor_share) : Json(nullptr)},
          {"relative_l2", std::isfinite(error) ? Json(error) : Json(nullptr)},
          {"registers", largest.registers},
          {"spill_bytes", largest.spill_bytes},
          {"profile", profile_words(evaluation)}};
}

/// Adds the elite's source, and the templates that came with it.
void add_sources(const Candidate& candidate, Json& elite) {
  if (!candidate.programs.empty() && candidate.programs.front().source.size() <= kLongestSource)
    elite["source"] = candidate.programs.front().source;
  if (!candidate.files.empty()) elite["files"] = candidate.files;
}

}  // namespace

struct ProposerMessages::Known {
  std::uint64_t evaluations = 0;
  std::vector<std::pair<double, Json>> elites;  // best first
  std::deque<Json> failures;
  std::deque<Json> own;  // the proposer's candidates
  std::vector<Json> refused;
  std::map<std::uint64_t, Genome> valid;  // by ticket
};

ProposerMessages::ProposerMessages(const Task& task, const Target& target, const Space& space, const DeviceInfo& device,
                                   const SourceTree& files, ProposerBriefing briefing)
    : build_(std::move(briefing.build)), known_(std::make_unique<Known>()) {
  const Json greeting = greeting_json(task, target, space, device, files, briefing);
  for (const Json& floor : greeting["floors"])
    floors_us_[floor["shape"].get<std::string>()] = floor["us"].get<double>();
  greeting_ = message_line(greeting);
}

ProposerMessages::~ProposerMessages() = default;
ProposerMessages::ProposerMessages(ProposerMessages&&) noexcept = default;

void ProposerMessages::observe(const Proposal& proposal, const Evaluation& evaluation) {
  ++known_->evaluations;
  const auto keep = [](std::deque<Json>& list, Json json) {
    list.push_back(std::move(json));
    if (list.size() > kReported) list.pop_front();
  };
  const bool valid = evaluation.verdict == Verdict::valid;
  if (proposal.op == kProposerOperator) {
    keep(known_->own, {{"ticket", proposal.ticket},
                       {"genome", genome_json(proposal.genome)},
                       {"note", proposal.note},
                       {"verdict", name_of(evaluation.verdict)},
                       {"reason", reason_text(evaluation)},
                       {"latency_us", valid ? Json(evaluation.latency_us) : Json(nullptr)}});
  }
  if (valid) {
    known_->valid.emplace(proposal.ticket, proposal.genome);
    auto& elites = known_->elites;
    const auto place = std::upper_bound(elites.begin(), elites.end(), evaluation.latency_us,
                                        [](double latency_us, const auto& elite) { return latency_us < elite.first; });
    if (static_cast<std::size_t>(place - elites.begin()) >= kEliteCount) return;
    Json elite = elite_json(proposal, evaluation, share_of_floor(floors_us_, evaluation));
    if (build_) add_sources(build_(proposal.genome), elite);
    elites.insert(place, {evaluation.latency_us, std::move(elite)});
    if (elites.size() > kEliteCount) elites.pop_back();
  } else if (evaluation.verdict != Verdict::duplicate) {
    keep(known_->failures, {{"genome", genome_json(proposal.genome)},
                            {"verdict", name_of(evaluation.verdict)},
                            {"reason", reason_text(evaluation)}});
  }
}

void ProposerMessages::refused(Json refusal) {
  known_->refused.push_back(std::move(refusal));
}

std::string ProposerMessages::question(const ExchangeSums& spent) {
  Json elites = Json::array();
  for (const auto& [latency_us, elite] : known_->elites) elites.push_back(elite);
  const Json refused = std::exchange(known_->refused, {});
  return message_line({{"type", "propose"},
                       {"evaluations", known_->evaluations},
                       {"elites", elites},
                       {"own", known_->own},
                       {"failures", known_->failures},
                       {"refused", refused},
                       {"spent", {{"requests", spent.requests}, {"tokens", spent.tokens}, {"cost", spent.cost}}}});
}

const Genome& ProposerMessages::genome_of(std::uint64_t ticket) const {
  const auto known = known_->valid.find(ticket);
  if (known == known_->valid.end()) throw usage_error(fmt::format("{} is no valid candidate of this run", ticket));
  return known->second;
}

}  // namespace evo::cli
