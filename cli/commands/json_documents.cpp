#include "cli/commands/json_documents.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "cli/text/format.h"
#include "cli/text/json_text.h"

namespace evo::cli {
namespace {

using Json = nlohmann::ordered_json;

Json document(const char* command) {
  return {{"evo", EVO_VERSION}, {"command", command}};
}

/// 64-bit numbers that are identities, not quantities: JSON readers that use doubles would round them.
std::string hex(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

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

Json limit_json(double limit) {
  return limit > 0 ? Json(limit) : Json(nullptr);
}

Json run_row_json(const RunRow& row) {
  const RunInfo& info = row.info;
  Json json = {{"id", row.id},
               {"task", info.task},
               {"task_hash", info.task_hash},
               {"device", device_json(info.device)},
               {"target", target_json(info.target)},
               {"objective", info.objective},
               {"family", info.family.empty() ? Json(nullptr) : Json(info.family)},
               {"strategy", info.strategy},
               {"seed", info.seed},
               {"salt", hex(info.salt)},
               {"width", info.width},
               {"screen", info.screen}};
  json["seeds"] = Json::array();
  for (const Seed& seed : info.seeds)
    json["seeds"].push_back({{"origin", seed.origin}, {"genome", genome_json(seed.genome)}});
  json["evaluation_limit"] = info.evaluation_limit > 0 ? Json(info.evaluation_limit) : Json(nullptr);
  json["time_limit_s"] = limit_json(info.time_limit_s);
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

Json count_or_null(int count) {
  return count > 0 ? Json(count) : Json(nullptr);
}

Json timing_json(const Timing& timing, bool with_samples) {
  Json json = {{"shape", timing.shape},        {"timing", timing_word(timing.modelled)},
               {"cold", timing.cold},          {"median_us", timing.median_us},
               {"low_us", timing.low_us},      {"high_us", timing.high_us},
               {"throttled", timing.throttled}};
  const Conditions& conditions = timing.conditions;
  json["sm_mhz_low"] = count_or_null(conditions.sm_mhz_low);
  json["sm_mhz_high"] = count_or_null(conditions.sm_mhz_high);
  json["memory_mhz"] = count_or_null(conditions.memory_mhz);
  json["other_processes"] = conditions.other_processes;
  json["power_limited"] = conditions.power_limited;
  if (with_samples) json["samples_us"] = timing.samples_us;
  return json;
}

Json timings_json(const std::vector<Timing>& timings, bool with_samples) {
  Json json = Json::array();
  for (const Timing& timing : timings) json.push_back(timing_json(timing, with_samples));
  return json;
}

Json elite_json(const EliteRow& row) {
  return {{"rank", row.rank},
          {"candidate", row.candidate},
          {"run", row.run},
          {"task", row.task},
          {"task_hash", row.task_hash},
          {"current", row.current},
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

Json elites_array(const std::vector<EliteRow>& rows) {
  Json json = Json::array();
  for (const EliteRow& row : rows) json.push_back(elite_json(row));
  return json;
}

Json build_json(const Build& build) {
  return {{"specialisation", build.specialisation},
          {"arch", build.arch},
          {"registers", build.registers},
          {"spill_bytes", build.spill_bytes},
          {"static_smem_bytes", build.static_smem_bytes},
          {"stack_bytes", build.stack_bytes},
          {"cubin_hash", build.cubin_hash},
          {"compile_ms", build.compile_ms},
          {"flags", build.flags},
          {"log", build.log}};
}

Json case_json(const CaseError& error) {
  return {{"shape", error.shape},
          {"seed", error.seed},
          {"regime", error.regime},
          {"output", error.output},
          {"relative_l2", error.relative_l2},
          {"max_abs", error.max_abs},
          {"cosine", error.cosine}};
}

Json evaluation_json(const Evaluation& evaluation) {
  const bool valid = evaluation.verdict == Verdict::valid;
  Json json = {{"verdict", name_of(evaluation.verdict)},
               {"reason", evaluation.reason},
               {"latency_us", valid ? Json(evaluation.latency_us) : Json(nullptr)},
               {"relative_l2", evaluation.worst_relative_l2},
               {"salt", hex(evaluation.salt)}};
  json["timings"] = timings_json(evaluation.timings, true);
  json["builds"] = Json::array();
  for (const Build& build : evaluation.builds) json["builds"].push_back(build_json(build));
  json["cases"] = Json::array();
  for (const CaseError& error : evaluation.errors) json["cases"].push_back(case_json(error));
  json["profile"] = evaluation.sass_summary;
  return json;
}

Json gene_json(const Gene& gene) {
  static constexpr const char* kKinds[] = {"number", "boolean", "category", "slot"};
  Json alleles = Json::array();
  for (const Value& allele : gene.alleles) alleles.push_back(value_json(allele));
  return {{"name", gene.name},
          {"kind", kKinds[static_cast<int>(gene.kind)]},
          {"alleles", alleles},
          {"when", gene.when.text()},
          {"doc", gene.doc}};
}

Json info_json(const DeviceInfo& device) {
  return {{"id", device.id},     {"kind", device.kind}, {"name", device.name},
          {"arch", device.arch}, {"uuid", device.uuid}, {"driver", device.driver}};
}

Json task_json(const TaskListing& listing) {
  if (!listing.problem.empty()) return {{"name", listing.name}, {"problem", listing.problem}};
  const Task& task = listing.task;
  Json families = Json::array();
  for (const Family& family : listing.families) {
    families.push_back({{"name", family.name},
                        {"summary", family.summary},
                        {"requires", family.requires_device.text()},
                        {"genes", family.genes.size()}});
  }
  Json options = Json::object();
  for (const Option& option : task.options) {
    for (const Value& value : option.values) options[option.name].push_back(value_json(value));
  }
  Json objectives = Json::array();
  for (const Objective& objective : task.objectives) {
    const Limits& limits = objective.limits;
    objectives.push_back({{"name", objective.name},
                          {"relative_l2", limit_json(limits.relative_l2)},
                          {"cosine", limit_json(limits.cosine)},
                          {"max_abs", limit_json(limits.max_abs)}});
  }
  Json sets = Json::object();
  for (const auto& [kind, set] : task.shape_sets) sets[kind] = {{"timed", set.timed}, {"validated", set.validated}};
  return {{"name", task.name},
          {"problem", nullptr},
          {"summary", task.summary},
          {"hash", task.hash},
          {"options", options},
          {"objectives", objectives},
          {"shapes", shapes_json(task.shapes)},
          {"shape_sets", sets},
          {"families", families}};
}

const char* name_of(Contract contract) {
  switch (contract) {
    case Contract::same:
      return "same";
    case Contract::installed:
      return "installed";
    case Contract::brought:
      return "brought";
  }
  return "";
}

Json finding_json(const Finding& finding) {
  const Claim& claim = finding.claim;
  Json json;
  json["origin"] = claim.origin;
  json["edited"] = claim.edited;
  json["task"] = claim.task.name;
  json["contract"] = name_of(claim.contract);
  json["genome"] = genome_json(claim.genome);
  json["device"] = info_json(finding.device);
  json["reproduced"] = finding.reproduced;
  json["why"] = finding.why;
  json["comparable"] = finding.comparable;
  json["tolerance"] = finding.tolerance;
  json["claim"] = {{"device", device_json(claim.device)},
                   {"latency_us", claim.latency_us},
                   {"relative_l2", claim.worst_relative_l2},
                   {"timings", timings_json(claim.timings, false)}};
  json["found"] = evaluation_json(finding.evaluation);
  return json;
}

}  // namespace

std::string run_json(const RunSummary& summary) {
  Json json = document("run");
  json["run"] = run_row_json(summary.run);
  json["interrupted"] = summary.result.interrupted;
  json["exhausted"] = summary.result.exhausted;
  json["verdicts"] = Json::object();
  for (const auto& [verdict, count] : summary.verdicts) json["verdicts"][std::string(name_of(verdict))] = count;
  json["first_valid"] = summary.first_valid ? outcome_json(*summary.first_valid) : Json(nullptr);
  json["best"] = summary.best ? outcome_json(*summary.best) : Json(nullptr);
  json["improvement"] = or_null(summary.improvement());
  json["elites"] = elites_array(summary.elites);
  return json_text(json);
}

std::string tasks_json(const std::vector<TaskListing>& tasks) {
  Json json = document("tasks");
  json["tasks"] = Json::array();
  for (const TaskListing& listing : tasks) json["tasks"].push_back(task_json(listing));
  return json_text(json);
}

std::string space_json(const SpaceListing& space) {
  Json json = document("space");
  json["task"] = space.task.name;
  json["device"] = info_json(space.device);
  json["target"] = target_json(space.target);
  json["legal"] = space.legal();
  json["families"] = Json::array();
  for (const FamilyListing& listing : space.families) {
    Json genes = Json::array();
    for (const Gene& gene : listing.family.genes) genes.push_back(gene_json(gene));
    json["families"].push_back({{"name", listing.family.name},
                                {"summary", listing.family.summary},
                                {"requires", listing.family.requires_device.text()},
                                {"left_out", listing.left_out.empty() ? Json(nullptr) : Json(listing.left_out)},
                                {"legal", listing.legal},
                                {"product", listing.product},
                                {"genes", genes}});
  }
  return json_text(json);
}

std::string elites_json(const std::vector<EliteRow>& rows) {
  Json json = document("elites");
  json["elites"] = elites_array(rows);
  return json_text(json);
}

std::string show_json(const CandidateRow& candidate, const RunRow& run) {
  Json programs = Json::array();
  for (const StoredProgram& program : candidate.programs) {
    programs.push_back({{"specialisation", bindings_json(program.specialisation)},
                        {"max_registers", program.max_registers},
                        {"source_hash", program.source_hash},
                        {"source", program.source}});
  }
  Json json = document("show");
  json["candidate"] = candidate.id;
  json["ticket"] = candidate.ticket;
  json["recorded_at"] = candidate.recorded_at;
  json["op"] = candidate.op;
  json["parents"] = candidate.parents;
  json["genome"] = genome_json(candidate.genome);
  json["elite_rank"] = or_null(candidate.elite_rank);
  json["source_hash"] = candidate.source_hash;
  json["evaluation"] = evaluation_json(candidate.evaluation);
  json["programs"] = programs;
  json["files"] = candidate.files;
  json["run"] = run_row_json(run);
  return json_text(json);
}

std::string lineage_json(CandidateId candidate, const std::vector<LineageRow>& rows) {
  Json json = document("lineage");
  json["candidate"] = candidate;
  json["ancestors"] = Json::array();
  for (const LineageRow& row : rows) {
    json["ancestors"].push_back({{"candidate", row.candidate},
                                 {"distance", row.distance},
                                 {"op", row.op},
                                 {"parents", row.parents},
                                 {"genome", genome_json(row.genome)},
                                 {"verdict", name_of(row.verdict)},
                                 {"latency_us", or_null(row.latency_us)}});
  }
  return json_text(json);
}

std::string diff_json(const CandidateRow& a, const CandidateRow& b, const std::vector<GeneDifference>& genes,
                      const std::string& source_diff) {
  Json json = document("diff");
  json["a"] = {{"candidate", a.id}, {"genome", genome_json(a.genome)}};
  json["b"] = {{"candidate", b.id}, {"genome", genome_json(b.genome)}};
  json["genes"] = Json::array();
  for (const GeneDifference& difference : genes) {
    json["genes"].push_back({{"gene", difference.gene},
                             {"a", difference.a ? value_json(*difference.a) : Json(nullptr)},
                             {"b", difference.b ? value_json(*difference.b) : Json(nullptr)}});
  }
  json["source_diff"] = source_diff;
  return json_text(json);
}

std::string runs_json(const std::vector<RunRow>& rows) {
  Json json = document("runs");
  json["runs"] = Json::array();
  for (const RunRow& row : rows) json["runs"].push_back(run_row_json(row));
  return json_text(json);
}

std::string runs_json(const RunRow& row, const std::vector<OutcomeRow>& outcomes) {
  Json json = document("runs");
  json["runs"] = Json::array({run_row_json(row)});
  Json& listed = json["runs"][0]["outcomes"] = Json::array();
  for (const OutcomeRow& outcome : outcomes) listed.push_back(outcome_json(outcome));
  return json_text(json);
}

std::string verify_json(const Finding& finding) {
  Json json = document("verify");
  json.update(finding_json(finding));
  return json_text(json);
}

std::string verify_json(const std::string& origin, const std::vector<Finding>& findings) {
  Json json = document("verify");
  json["origin"] = origin;
  json["reproduced"] = std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.reproduced; });
  json["kernels"] = Json::array();
  for (const Finding& finding : findings) json["kernels"].push_back(finding_json(finding));
  return json_text(json);
}

std::string compare_json(const Comparison& comparison) {
  Json json = document("compare");
  json["task"] = comparison.task;
  json["device"] = info_json(comparison.device);
  json["objective"] = comparison.objective;
  json["timing"] = timing_word(comparison.modelled);
  json["rounds"] = comparison.rounds;
  json["throttled"] = comparison.throttled;
  json["candidates"] = Json::array();
  for (const ComparisonRow& row : comparison.rows) {
    Json entry = {
        {"candidate", row.candidate}, {"median_us", row.failure.empty() ? Json(row.median_us) : Json(nullptr)},
        {"rounds_us", row.rounds_us}, {"failure", row.failure.empty() ? Json(nullptr) : Json(row.failure)},
        {"verdict", nullptr},         {"ratio", nullptr}};
    if (row.against) {
      entry["verdict"] = name_of(ranking(*row.against));
      entry["ratio"] = {{"mean", row.against->ratio}, {"low", row.against->low}, {"high", row.against->high}};
    }
    json["candidates"].push_back(std::move(entry));
  }
  return json_text(json);
}

std::string db_check_json(const std::string& database, const std::vector<std::string>& problems) {
  Json json = document("db check");
  json["database"] = database;
  json["problems"] = problems;
  return json_text(json);
}

std::string db_merge_json(const MergeCounts& counts) {
  Json json = document("db merge");
  json["runs"] = counts.runs;
  json["known_runs"] = counts.known_runs;
  json["continued_runs"] = counts.continued_runs;
  json["contradicting_runs"] = counts.contradicting_runs;
  json["candidates"] = counts.candidates;
  json["elites"] = counts.elites;
  return json_text(json);
}

std::string selftest_json(const SelftestResult& result) {
  Json json = document("selftest");
  json["task"] = result.task;
  json["task_hash"] = result.task_hash;
  json["device"] = info_json(result.device);
  json["passed"] = result.passed();
  json["judged"] = result.judged();
  json["wrong"] = result.wrong();
  json["specimens"] = Json::array();
  for (const SelftestRow& row : result.rows) {
    json["specimens"].push_back({{"name", row.mutant.name},
                                 {"family", row.mutant.family},
                                 {"about", row.mutant.about},
                                 {"verdict", row.judged ? Json(name_of(row.verdict)) : Json(nullptr)},
                                 {"reason", row.reason},
                                 {"right", row.judged ? Json(row.right) : Json(nullptr)}});
  }
  return json_text(json);
}

std::string doctor_json(const Diagnosis& diagnosis) {
  Json json = document("doctor");
  json["can_run"] = diagnosis.can_run;
  json["can_measure"] = diagnosis.can_measure;
  json["checks"] = Json::array();
  for (const Check& check : diagnosis.checks) {
    json["checks"].push_back({{"name", check.name},
                              {"ok", check.ok},
                              {"found", check.found},
                              {"fix", check.fix.empty() ? Json(nullptr) : Json(check.fix)}});
  }
  return json_text(json);
}

}  // namespace evo::cli
