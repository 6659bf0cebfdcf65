#include "cli/proposer/proposer_messages.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/proposer/known_candidates.h"
#include "cli/subject/json.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "evaluator/pipeline/gates.h"

namespace evo::cli {
namespace {

constexpr std::size_t kReported = 8;      // of failures, the latest
constexpr std::size_t kReportedOwn = 16;  // of a proposer's candidates

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

/// The peak rates of the device; empty: they are unknown.
Json rates_json(const std::optional<DeviceInfo>& rates) {
  if (!rates) return Json::object();
  Json tensor = Json::object();
  for (const DType dtype : {DType::e4m3, DType::f16, DType::bf16, DType::f32, DType::s8})
    if (const double peak = rates->peak_tflops(dtype); peak > 0)
      tensor[std::string(info_of(dtype).name)] = std::round(peak * 10) / 10;
  return {{"memory_gbytes_per_s", rates->memory_gbytes_per_s},
          {"memory_bytes", rates->memory_bytes},
          {"l2_bytes", rates->l2_bytes},
          {"clock_ghz", rates->clock_ghz},
          {"launch_us", rates->launch_floor_us},
          {"tensor_tflops", tensor}};
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
          {"device",
           {{"name", device.name},
            {"arch", device.arch},
            {"facts", bindings_json(facts_of(device.limits))},
            {"rates", rates_json(briefing.rates)}}},
          {"floors", floors_json(task, target, briefing.rates)},
          {"lessons", briefing.lessons},
          {"families", families},
          {"files", files}};
}

}  // namespace

struct ProposerMessages::Known {
  KnownCandidates candidates;
  std::uint64_t evaluations = 0;
  std::deque<Json> failures = {};
  std::deque<Json> own = {};  // the proposer's candidates
  std::vector<Json> refused = {};
};

ProposerMessages::ProposerMessages(const Task& task, const Target& target, const Space& space, const DeviceInfo& device,
                                   const SourceTree& files, ProposerBriefing briefing) {
  const Json greeting = greeting_json(task, target, space, device, files, briefing);
  std::map<std::string, double> floors_us;
  for (const Json& floor : greeting["floors"]) floors_us[floor["shape"].get<std::string>()] = floor["us"].get<double>();
  greeting_ = message_line(greeting);
  known_ = std::make_unique<Known>(
      Known{KnownCandidates(std::move(floors_us), std::move(briefing.build), std::move(briefing.line_shares))});
}

ProposerMessages::~ProposerMessages() = default;
ProposerMessages::ProposerMessages(ProposerMessages&&) noexcept = default;

void ProposerMessages::observe(const Proposal& proposal, const Evaluation& evaluation, const ProposedBy& by) {
  ++known_->evaluations;
  const auto keep = [](std::deque<Json>& list, Json json, std::size_t most) {
    list.push_back(std::move(json));
    if (list.size() > most) list.pop_front();
  };
  const bool valid = evaluation.verdict == Verdict::valid;
  const bool elite = valid && known_->candidates.add(proposal, evaluation);
  if (proposal.op == kProposerOperator) {
    Json own = {{"ticket", proposal.ticket},
                {"genome", genome_json(proposal.genome)},
                {"note", proposal.note},
                {"verdict", name_of(evaluation.verdict)},
                {"reason", reason_text(evaluation)},
                {"latency_us", valid ? Json(evaluation.latency_us) : Json(nullptr)},
                {"elite", elite}};
    if (!by.model.empty()) own["model"] = by.model;
    if (!by.patch.empty()) own["patch"] = Json::parse(by.patch);
    if (!proposal.parents.empty())
      if (const auto before = known_->candidates.latency_of(proposal.parents.front())) own["parent_us"] = *before;
    keep(known_->own, std::move(own), kReportedOwn);
  }
  if (!valid && evaluation.verdict != Verdict::duplicate) {
    keep(known_->failures,
         {{"genome", genome_json(proposal.genome)},
          {"verdict", name_of(evaluation.verdict)},
          {"reason", reason_text(evaluation)}},
         kReported);
  }
}

void ProposerMessages::refused(Json refusal) {
  known_->refused.push_back(std::move(refusal));
}

std::string ProposerMessages::question(const ExchangeSums& spent) {
  const Json refused = std::exchange(known_->refused, {});
  return message_line({{"type", "propose"},
                       {"evaluations", known_->evaluations},
                       {"elites", known_->candidates.elites()},
                       {"slower", known_->candidates.slower()},
                       {"lineage", known_->candidates.lineage()},
                       {"own", known_->own},
                       {"failures", known_->failures},
                       {"refused", refused},
                       {"spent", {{"requests", spent.requests}, {"tokens", spent.tokens}, {"cost", spent.cost}}}});
}

const std::vector<Json>& ProposerMessages::refusals() const {
  return known_->refused;
}

const Genome& ProposerMessages::genome_of(std::uint64_t ticket) const {
  const Genome* known = known_->candidates.genome_of(ticket);
  if (known == nullptr) throw usage_error(fmt::format("{} is no valid candidate of this run", ticket));
  return *known;
}

std::string ProposerMessages::rendered_source(const Genome& genome) const {
  const Candidate candidate = known_->candidates.build(genome);
  if (candidate.programs.size() != 1)
    throw usage_error(fmt::format("it is rendered {} times, once for each kind of shape: patch its files instead",
                                  candidate.programs.size()));
  return candidate.programs.front().source;
}

}  // namespace evo::cli
