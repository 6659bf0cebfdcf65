#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/report/index_page.h"
#include "cli/report/lessons.h"
#include "cli/report/page_data.h"
#include "cli/report/page_subject.h"
#include "cli/report/report_document.h"
#include "cli/report/report_page.h"
#include "cli/report/run_choice.h"
#include "cli/report/run_report.h"
#include "cli/run/run_summary.h"
#include "cli/subject/elite_table.h"
#include "cli/text/files.h"
#include "engine/device/device_kind.h"
#include "engine/record/enumerators.h"
#include "population/results/import.h"

namespace evo::cli {
namespace {

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
                      enumerator_name(report.run.status), verdict_counts(report.verdicts));
  if (report.milestones.empty()) return text + "  no candidate was valid\n";
  const Milestone& first = report.milestones.front();
  const Milestone& best = report.milestones.back();
  text += fmt::format("  best: candidate {}, {} us {}, {:.2f}x faster than the first valid one\n", best.candidate,
                      microseconds(best.latency_us), timing_word(kind_named(info.device.kind).modelled),
                      first.latency_us / best.latency_us);
  return report.rivals.empty() ? text : text + fmt::format("  rivals: {}\n", report.rivals);
}

std::string milestones_text(const RunReport& report, const Terminal& terminal) {
  Table table({">evaluations", ">after", ">id", ">us", "operator", "change from the one before"});
  for (const Milestone& one : report.milestones)
    table.add({std::to_string(one.evaluations), duration_text(one.seconds), std::to_string(one.candidate),
               microseconds(one.latency_us), one.op, one.change});
  return table.text(terminal, 2);
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
  Table table({"gene", ">importance", ">alone", ">pairs", "best us with each allele (-: none was valid)"});
  for (const GeneWorth& gene : family.genes) {
    if (gene.alleles.size() < 2) continue;
    table.add({gene.gene, gene.pairs > 0 && gene.importance > 0 ? percent(gene.importance) : "-",
               gene.pairs > 0 ? fmt::format("{:.3f}x", gene.pair_ratio) : "-", std::to_string(gene.pairs),
               alleles_text(gene)});
  }
  return table.text(terminal, 2);
}

std::string rejections_text(const RunReport& report) {
  std::string text;
  for (const Rejection& rejection : report.rejections) text += rejection_text(rejection);
  return text;
}

std::string phases_text(const PhaseSums& phases, const Terminal& terminal) {
  Table table({"phase", ">seconds", ">of the run", ""});
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
  Table table({">id", ">us", "verdict", "note"});
  for (const NotedProposal& one : report.notes)
    table.add({std::to_string(one.candidate), latency_text(one.latency_us), std::string(name_of(one.verdict)),
               one_line(one.note)});
  return table.text(terminal, 2);
}

std::string peoples_notes_text(const RunReport& report, const Terminal& terminal) {
  Table table({">id", "at", "note"});
  for (const NoteRow& one : report.peoples_notes)
    table.add({std::to_string(one.candidate), one.at, one_line(one.text)});
  return table.text(terminal, 2);
}

std::string lessons_text(const Lessons& lessons) {
  std::string text;
  for (const std::string& line : lesson_lines(lessons)) text += fmt::format("  - {}\n", line);
  return text;
}

std::string questions_text(const RunReport& report) {
  std::string text;
  for (const std::string& question : report.questions) text += fmt::format("  - {}\n", question);
  return text;
}

std::string report_text(const RunReport& report, const Lessons& lessons, const Terminal& terminal) {
  std::string text = heading_text(report, terminal);
  text += section(terminal, "best so far", milestones_text(report, terminal));
  if (!report.front.empty())
    text += section(terminal, "the front of latency over error", elite_table(report.front, terminal));
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
  text += section(terminal, "notes of people", peoples_notes_text(report, terminal));
  if (const std::string model = exchanges_text(report.exchanges); !model.empty())
    text += section(terminal, "language model", "  " + model);
  text += section(terminal,
                  fmt::format("lessons of {} other run{} of the task ({} candidates)", lessons.runs.size(),
                              lessons.runs.size() == 1 ? "" : "s", grouped(lessons.candidates)),
                  lessons_text(lessons));
  return text + section(terminal, "open questions", questions_text(report));
}

// --- which runs, and where to

struct ReportRequest {
  RunChoice choice;
  std::string output;
  std::vector<std::string> rivals;
  std::string predicted = "32";
  std::string explained = "1";
  bool all = false;
  std::string database = kDefaultDatabase;
  bool json = false;
};

PageWishes wishes(const ReportRequest& request) {
  return {parse_number("--predict", request.predicted, 0, 10'000),
          parse_number("--explain", request.explained, 0, kShownKernels), request.rivals};
}

/// A folder of pages, and an index over them. The runs that were named are databases.
int write_all(const ReportRequest& request, const CLI::App& command) {
  if (request.output.empty()) throw usage_error("--all writes a folder of pages: name it with -o DIR");
  for (const char* other : {"--task", "--rivals"})
    if (!command.get_option(other)->empty()) throw usage_error(fmt::format("--all cannot be combined with {}", other));
  PageWishes wanted = wishes(request);
  // Each costs seconds of every page.
  if (command.get_option("--predict")->empty()) wanted.predicted = 0;
  if (command.get_option("--explain")->empty()) wanted.explained = 0;
  std::vector<std::string> databases = request.choice.runs;
  if (databases.empty() || !command.get_option("--db")->empty()) databases.insert(databases.begin(), request.database);
  const WrittenPages written = write_all_pages(databases, request.output, wanted);
  for (const std::string& problem : written.problems) write_to_stderr(problem + "\n");
  const auto some = [](std::size_t number, const char* noun) {
    return fmt::format("{} {}{}", grouped(std::uint64_t{number}), noun, number == 1 ? "" : "s");
  };
  print("wrote {}: {}, {}, {}\n", (std::filesystem::path(request.output) / "index.html").string(),
        some(written.databases, "database"), some(written.runs, "run"), some(written.boards, "ranking"));
  return kDone;
}

int write_page(const Store& store, const ReportRequest& request) {
  const bool page = request.output.ends_with(".html") || request.output.ends_with(".htm");
  if (!page && !request.output.ends_with(".json"))
    throw usage_error(
        fmt::format("-o {}: expected a name that ends with .html, or .json for the page's data", request.output));
  const std::vector<RunId> runs = chosen_runs(store, request.choice);
  const auto data = page_data(store, runs, wishes(request));
  const std::string text = page ? report_page(data) : json_text(data);
  write_file(request.output, text);
  print("wrote {}: {} run{}, {} candidates, {:.1f} MB\n", request.output, runs.size(), runs.size() == 1 ? "" : "s",
        grouped(data["candidates"]["id"].size()), static_cast<double>(text.size()) * 1e-6);
  return kDone;
}

int report(const ReportRequest& request, const CLI::App& command) {
  if (request.all) return write_all(request, command);
  const Store store = Store::open(request.database, Store::Mode::read);
  if (!request.output.empty()) return write_page(store, request);
  if (request.choice.runs.size() > 1)
    throw usage_error("several runs are shown together on a page: name it with -o report.html");
  const RunRow run = find_run(store, chosen_runs(store, request.choice).front());
  const bool imported = run.info.strategy == kImported;
  const std::optional<Space> space = imported ? std::nullopt : std::optional(space_of_run(store, run));
  const RunReport found = report_of(store, run, space ? &*space : nullptr);
  const Lessons lessons = space ? lessons_of(store, run.info, run.id, *space) : Lessons{};
  print("{}", request.json ? report_document(found, lessons) : report_text(found, lessons, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "report",
                  "Report on runs: the best so far, the worth of each gene, failures; as text or as a page", report);
  CLI::Option* runs = add_option(command, "RUN", "", request.choice.runs, "The runs' numbers (default: the newest)");
  add_option(command, "--task", "TASK", request.choice.task,
             "All runs that compete with the newest of this task; as text only the newest")
      ->excludes(runs);
  CLI::Option* output =
      add_option(command, "-o,--output", "FILE", request.output,
                 "Write one page for a browser, report.html; report.json: its data; with --all a folder");
  command.add_flag("--all", request.all,
                   "Write a page for each run and an index over them into the folder -o DIR; RUN then names databases "
                   "(default: that of --db)");
  add_option(command, "--explain", "N", request.explained,
             "On the page, explain the modelled time of the fastest kernel, or of the N fastest, at most three")
      ->needs(output);
  add_option(command, "--rivals", "FILE", request.rivals,
             R"(On the page, JSON lines like {"name": "cuDNN e4m3", "shape": "mission", "us": 10.8, "error": 0.035})")
      ->needs(output);
  add_option(command, "--predict", "N", request.predicted,
             "On the page, let the cost model predict at most this many of the measured latencies")
      ->needs(output);
  add_usual_options(command, request);
  output->excludes(command.get_option("--json"));
}

}  // namespace evo::cli
