#include <set>

#include "bench.h"

using namespace evo::testing;

namespace {

using Names = std::set<std::string>;

Names members(const nlohmann::json& object) {
  Names names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

Names document(Names own) {
  own.insert({"evo", "command"});
  return own;
}

}  // namespace

// docs/json.md promises these names; a change here is a change for every program that reads them.
TEST_CASE("every document has the members that docs/json.md describes") {
  const ToyBench bench;
  const nlohmann::json run = bench.json({"run", "--task", "toy", "--device", "vgpu", "--evals", "8", "--seed", "1"});
  const Names run_members = {
      "id",           "task",        "task_hash",    "device",       "target",      "objective",     "family",
      "strategy",     "seed",        "seeds",        "screen",       "salt",        "width",         "evaluation_limit",
      "time_limit_s", "keeps_front", "until",        "settles",      "status",      "started_at",    "finished_at",
      "evaluated",    "valid",       "best_us",      "command_line", "evo_version", "nvrtc_version", "further_devices",
      "answers",      "until_us",    "settled_until"};
  const Names outcome_members = {"candidate", "ticket", "op", "verdict", "latency_us", "seconds"};
  CHECK(members(run) == document({"run",        "self_consistent", "interrupted", "exhausted",   "reached",  "settled",
                                  "verdicts",   "first_valid",     "best",        "improvement", "elites",   "front",
                                  "rejections", "seeds",           "exchanges",   "devices",     "modelled", "compiled",
                                  "times",      "proposed",        "refused",     "edits"}));
  CHECK(members(run["seeds"]) ==
        Names{"taken", "origins", "evaluated", "valid", "best", "best_us", "ancestor_of_best"});
  CHECK(members(run["exchanges"]) ==
        Names{"model", "requests", "failed", "tokens", "cost", "candidates", "valid", "best", "best_us"});
  CHECK(members(run["run"]) == run_members);
  CHECK(members(run["best"]) == outcome_members);
  CHECK(members(run["elites"][0]) ==
        Names{"rank",   "candidate", "run",         "task",   "task_hash",   "current",   "self_consistent",
              "device", "objective", "latency_us",  "timing", "relative_l2", "registers", "spill_bytes",
              "genome", "genomes",   "source_hash", "since",  "provisional", "checks",    "timings"});
  CHECK(members(run["run"]["device"]) == Names{"id", "kind", "name", "arch", "uuid", "driver"});
  CHECK(members(run["run"]["target"]) == Names{"objective", "options", "timed", "validated"});
  CHECK(run["run"]["salt"].get<std::string>().size() == 16);

  const std::string a = std::to_string(run["elites"][0]["candidate"].get<int>());
  const std::string b = std::to_string(run["elites"][1]["candidate"].get<int>());
  CHECK(members(bench.json({"elites"})) == document({"elites"}));
  CHECK(members(bench.json({"tasks"})) == document({"tasks"}));
  CHECK(members(bench.json({"space", "--task", "toy", "--device", "vgpu"})) ==
        document({"task", "device", "target", "legal", "floors", "families"}));
  CHECK(members(bench.json({"runs"})) == document({"runs"}));
  Names with_outcomes = run_members;
  with_outcomes.insert("outcomes");
  CHECK(members(bench.json({"runs", "1"})["runs"][0]) == with_outcomes);
  CHECK(members(bench.json({"runs", "1"})["runs"][0]["outcomes"][0]) == outcome_members);
  const nlohmann::json report = bench.json({"report", "1"});
  CHECK(members(report) == document({"run", "milestones", "front", "families", "rejections", "phases", "notes",
                                     "peoples_notes", "exchanges", "lessons", "questions"}));
  CHECK(members(report["lessons"]) == Names{"runs", "candidates", "lines", "notes"});
  CHECK(members(report["milestones"][0]) == Names{"evaluations", "seconds", "candidate", "latency_us", "op", "change"});
  CHECK(members(report["families"][0]) == Names{"family", "tried", "valid", "best_us", "genes"});
  CHECK(members(report["families"][0]["genes"][0]) == Names{"gene", "importance", "pairs", "pair_ratio", "alleles"});
  CHECK(members(report["families"][0]["genes"][0]["alleles"][0]) == Names{"allele", "tried", "valid", "best_us"});
  CHECK(members(report["phases"]) == Names{"run_s", "compile_s", "waiting_s", "validation_s", "timing_s"});
  const nlohmann::json show = bench.json({"show", a});
  CHECK(members(show) == document({"candidate",       "ticket",     "recorded_at", "op",       "note",
                                   "notes",           "exchange",   "lessons",     "parents",  "genome",
                                   "self_consistent", "elite_rank", "provisional", "checks",   "source_hash",
                                   "evaluation",      "edits",      "profiles",    "programs", "files",
                                   "sittings",        "run"}));
  const Names evaluation_members = {"waiting_s",   "validation_s", "timing_s", "verdict",  "reason",   "latency_us",
                                    "relative_l2", "salt",         "timings",  "original", "mismatch", "comparison",
                                    "builds",      "residency",    "cases",    "notes",    "ran_on"};
  CHECK(members(show["evaluation"]) == evaluation_members);
  CHECK(members(show["evaluation"]["timings"][0]) ==
        Names{"shape", "modelled", "timing", "cold", "median_us", "low_us", "high_us", "throttled", "sm_mhz_low",
              "sm_mhz_high", "memory_mhz", "other_processes", "power_limited", "temperature_c", "samples_us"});
  CHECK(members(show["evaluation"]["builds"][0]) == Names{"specialisation", "arch", "cubin_hash", "compile_ms", "flags",
                                                          "log", "kernels", "kernel_names", "variables"});
  CHECK(members(show["evaluation"]["builds"][0]["kernels"].front()) ==
        Names{"registers", "spill_bytes", "stack_bytes", "static_smem_bytes", "launched", "cooperative", "warning"});
  CHECK(members(show["evaluation"]["cases"][0]) ==
        Names{"shape", "seed", "regime", "output", "relative_l2", "max_abs", "cosine"});
  CHECK(members(show["programs"][0]) == Names{"specialisation", "max_registers", "source_hash", "source"});
  const nlohmann::json lineage = bench.json({"lineage", a});
  CHECK(members(lineage) == document({"candidate", "ancestors"}));
  CHECK(members(lineage["ancestors"][0]) ==
        Names{"candidate", "distance", "op", "parents", "genome", "verdict", "latency_us", "edits"});
  const nlohmann::json diff = bench.json({"diff", a, b});
  CHECK(members(diff) == document({"a", "b", "genes", "source_diff"}));
  CHECK(members(diff["genes"][0]) == Names{"gene", "a", "b"});
  const nlohmann::json verify = bench.json({"verify", a});
  CHECK(members(verify) ==
        document({"origin", "edited", "task", "contract", "genome", "device", "reproduced", "why", "comparable",
                  "tolerance", "own_inputs_us", "claim", "found", "held_out", "checks", "launcher"}));
  CHECK(members(verify["found"]) == evaluation_members);
  const nlohmann::json doctor = bench.json({"doctor"});
  CHECK(members(doctor) == document({"can_run", "can_measure", "checks"}));
  CHECK(members(doctor["checks"][0]) == Names{"name", "ok", "found", "fix"});
}
