#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/report/run_report.h"
#include "cli/subject/arguments.h"
#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/table.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"

namespace evo::cli {
namespace {

using Align = Table::Align;

std::string latency_text(const std::optional<double>& latency_us) {
  return latency_us ? microseconds(*latency_us) : "-";
}

std::string section(const Terminal& terminal, const std::string& heading, const std::string& text) {
  return text.empty() ? "" : fmt::format("\n{}\n{}", styled(terminal, Style::bold, heading), text);
}

std::string heading_text(const RunReport& report, const Terminal& terminal) {
  const RunInfo& info = report.run.info;
  std::string text =
      styled(terminal, Style::bold,
             fmt::format("run {}: {} on {} ({})", report.run.id, info.task, info.device.id, info.device.name)) +
      fmt::format(": {}\n", info.objective);
  text += fmt::format("  {} in {}, {}: {}\n", report.run.evaluated, duration_text(report.phases.run_s),
                      name_of(report.run.status), verdict_counts(report.verdicts));
  if (report.milestones.empty()) return text + "  no candidate was valid\n";
  const Milestone& first = report.milestones.front();
  const Milestone& best = report.milestones.back();
  return text + fmt::format("  best: candidate {}, {} us {}, {:.2f}x faster than the first valid one\n", best.candidate,
                            microseconds(best.latency_us), timing_word(kind_named(info.device.kind).modelled),
                            first.latency_us / best.latency_us);
}

std::string milestones_text(const RunReport& report, const Terminal& terminal) {
  Table table({{"evaluations", Align::right},
               {"after", Align::right},
               {"id", Align::right},
               {"us", Align::right},
               {"operator"},
               {"change from the one before"}});
  for (const Milestone& one : report.milestones)
    table.add({std::to_string(one.evaluations), duration_text(one.seconds), std::to_string(one.candidate),
               microseconds(one.latency_us), one.op, one.change});
  return table.empty() ? "" : table.text(terminal, 2);
}

/// "32 3.31, 64 3.90, 128 -": the best latency with each allele.
std::string alleles_text(const GeneWorth& gene) {
  std::vector<std::string> texts;
  for (const AlleleWorth& allele : gene.alleles)
    if (allele.tried > 0)
      texts.push_back(fmt::format("{} {}", expr::to_string(allele.allele), latency_text(allele.best_us)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string family_text(const FamilyReport& family, const Terminal& terminal) {
  Table table({{"gene"},
               {"importance", Align::right},
               {"alone", Align::right},
               {"pairs", Align::right},
               {"best us with each allele (-: none was valid)"}});
  for (const GeneWorth& gene : family.genes) {
    if (gene.alleles.size() < 2) continue;
    table.add({gene.gene, gene.importance > 0 ? percent(gene.importance) : "-",
               gene.pairs > 0 ? fmt::format("{:.3f}x", gene.pair_ratio) : "-", std::to_string(gene.pairs),
               alleles_text(gene)});
  }
  return table.empty() ? "" : table.text(terminal, 2);
}

std::string rejections_text(const RunReport& report) {
  std::string text;
  for (const Rejection& rejection : report.rejections) text += rejection_text(rejection);
  return text;
}

std::string phases_text(const PhaseSums& phases, const Terminal& terminal) {
  Table table({{"phase"}, {"seconds", Align::right}, {"of the run", Align::right}, {""}});
  const auto add = [&](const char* name, double seconds, const char* about) {
    table.add({name, fmt::format("{:.1f}", seconds), phases.run_s > 0 ? percent(seconds / phases.run_s) : "-", about});
  };
  add("waiting", phases.device.waiting_s, "for a candidate to be compiled, with nothing else to evaluate");
  add("validation", phases.device.validation_s, "runs, comparisons, sanitiser");
  add("timing", phases.device.timing_s, "");
  add("compiling", phases.compile_s, "added up over all workers, while others are validated");
  return table.text(terminal, 2);
}

std::string notes_text(const RunReport& report, const Terminal& terminal) {
  Table table({{"id", Align::right}, {"us", Align::right}, {"verdict"}, {"note"}});
  for (const NotedProposal& one : report.notes)
    table.add({std::to_string(one.candidate), latency_text(one.latency_us), std::string(name_of(one.verdict)),
               one_line(one.note)});
  return table.empty() ? "" : table.text(terminal, 2);
}

std::string questions_text(const RunReport& report) {
  std::string text;
  for (const std::string& question : report.questions) text += fmt::format("  - {}\n", question);
  return text;
}

std::string report_text(const RunReport& report, const Terminal& terminal) {
  std::string text = heading_text(report, terminal);
  text += section(terminal, "best so far", milestones_text(report, terminal));
  for (const FamilyReport& family : report.families) {
    if (family.tried == 0) continue;
    text += section(terminal,
                    fmt::format("what the genes of {} were worth ({} tried, {} valid, best {} us)", family.family,
                                family.tried, family.valid, latency_text(family.best_us)),
                    family_text(family, terminal));
  }
  text += section(terminal, "what failed and why", rejections_text(report));
  text += section(terminal, "where the time went", phases_text(report.phases, terminal));
  text += section(terminal, "notes of the proposer", notes_text(report, terminal));
  return text + section(terminal, "open questions", questions_text(report));
}

// --- for programs

using Json = nlohmann::ordered_json;

Json gene_json(const GeneWorth& gene) {
  Json json = {{"gene", gene.gene}, {"importance", gene.importance}, {"pairs", gene.pairs}};
  json["pair_ratio"] = gene.pairs > 0 ? Json(gene.pair_ratio) : Json(nullptr);
  json["alleles"] = Json::array();
  for (const AlleleWorth& allele : gene.alleles)
    json["alleles"].push_back({{"allele", value_json(allele.allele)},
                               {"tried", allele.tried},
                               {"valid", allele.valid},
                               {"best_us", or_null(allele.best_us)}});
  return json;
}

std::string report_document(const RunReport& report) {
  Json json = json_document("report");
  json["run"] = run_json(report.run);
  json["milestones"] = Json::array();
  for (const Milestone& one : report.milestones)
    json["milestones"].push_back({{"evaluations", one.evaluations},
                                  {"seconds", one.seconds},
                                  {"candidate", one.candidate},
                                  {"latency_us", one.latency_us},
                                  {"op", one.op},
                                  {"change", one.change}});
  json["families"] = Json::array();
  for (const FamilyReport& family : report.families) {
    Json genes = Json::array();
    for (const GeneWorth& gene : family.genes) genes.push_back(gene_json(gene));
    json["families"].push_back({{"family", family.family},
                                {"tried", family.tried},
                                {"valid", family.valid},
                                {"best_us", or_null(family.best_us)},
                                {"genes", genes}});
  }
  json["rejections"] = rejections_json(report.rejections);
  json["phases"] = {{"run_s", report.phases.run_s},
                    {"compile_s", report.phases.compile_s},
                    {"waiting_s", report.phases.device.waiting_s},
                    {"validation_s", report.phases.device.validation_s},
                    {"timing_s", report.phases.device.timing_s}};
  json["notes"] = Json::array();
  for (const NotedProposal& one : report.notes)
    json["notes"].push_back({{"candidate", one.candidate},
                             {"note", one.note},
                             {"verdict", name_of(one.verdict)},
                             {"reason", one.reason},
                             {"latency_us", or_null(one.latency_us)}});
  json["questions"] = report.questions;
  return json_text(json);
}

RunId chosen_run(const Store& store, const EntryRequest& request) {
  if (!request.id.empty()) return parse_id("run", request.id);
  const std::vector<RunRow> runs = store.runs();
  if (runs.empty()) throw usage_error("no runs yet: start one with evo run --task T");
  return runs.front().id;
}

int report(const EntryRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  const RunReport found = report_of(store, chosen_run(store, request));
  fmt::print("{}", request.json ? report_document(found) : report_text(found, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<EntryRequest>();
  CLI::App* command = app.add_subcommand(
      "report", "What a run has shown: best so far, what each gene was worth, what failed, where the time went");
  command->add_option("RUN", request->id, "The run's number (default: the newest)")->type_name("");
  add_database_option(*command, request->database);
  add_json_flag(*command, request->json);
  command->callback([request, &invocation] { invocation.action = [request] { return report(*request); }; });
}

}  // namespace evo::cli
