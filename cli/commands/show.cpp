#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edits/edit_words.h"
#include "cli/model/profile_report.h"
#include "cli/report/lessons.h"
#include "cli/report/run_report.h"
#include "cli/sources/shadowing.h"
#include "cli/sources/sources.h"
#include "cli/subject/best_rival.h"
#include "cli/subject/json.h"
#include "cli/subject/self_consistency.h"
#include "cli/text/result_text.h"
#include "cli/text/spread.h"
#include "engine/device/device_kind.h"
#include "engine/edits/source_edit.h"
#include "engine/record/record_json.h"

namespace evo::cli {
namespace {

struct ShowRequest : EntryRequest {
  bool source = false;
  bool log = false;
  bool samples = false;
  bool genome = false;
  bool exchange = false;
};

/// What people and a language model have to say of a candidate.
struct Words {
  std::vector<NoteRow> notes;
  std::optional<ExchangeRecord> exchange;
  std::vector<std::string> lessons;  ///< Of the runs of its task.
};

/// Of a candidate's ranking. A run that was imported without its task's files teaches nothing.
std::vector<std::string> lessons_about(const Store& store, const CandidateRow& row, const RunRow& run) {
  constexpr std::size_t kShownRuns = 5;  // more would be slow to read
  if (store.task_files(run.info.task_hash).empty()) return {};
  const Lessons lessons = lessons_of(store, run.info, std::nullopt, space_of_run(store, run), kShownRuns);
  return lesson_lines(lessons, row.genome);
}

std::string exchange_text(const ExchangeRecord& exchange, CandidateId id) {
  return fmt::format("{}: {} tokens asked, {} answered{}, {:.1f} s (evo show {} --exchange prints both)",
                     one_line(exchange.model), grouped(static_cast<std::uint64_t>(exchange.prompt_tokens)),
                     grouped(static_cast<std::uint64_t>(exchange.answer_tokens)),
                     exchange.cost > 0 ? fmt::format(", cost {:.4g}", exchange.cost) : "", exchange.seconds, id);
}

std::string tools_text(const Evaluation& evaluation, const RunInfo& info) {
  std::string text = fmt::format("evo {}, NVRTC {}", info.evo_version, info.nvrtc_version);
  if (!info.device.driver.empty()) text += ", driver " + info.device.driver;
  if (!info.device.uuid.empty()) text += ", " + info.device.uuid;
  if (!evaluation.builds.empty() && !evaluation.builds.front().flags.empty())
    text += ", flags " + evaluation.builds.front().flags;
  return text;
}

std::string facts_text(const CandidateRow& row, const RunRow& run, const Words& words, bool self_consistent,
                       const Terminal& terminal) {
  const Evaluation& evaluation = row.evaluation;
  Table facts({"", ""});
  facts.add({"task", fmt::format("{} on {} ({})", run.info.task, run.info.device.id, run.info.device.name)});
  if (const std::string remark = shadowing_remark(run.info.task, run.info.task_hash); !remark.empty())
    facts.add({"", remark}, Style::warning);
  facts.add({"objective", run.info.objective});
  facts.add({"genome", to_text(row.genome)});
  facts.add({"made by", fmt::format("{}{}, proposal {} of run {}, {}", row.op,
                                    row.parents.empty() ? "" : fmt::format(" of {}", fmt::join(row.parents, " and ")),
                                    row.ticket, row.run, row.recorded_at)});
  if (!row.note.empty()) facts.add({"note", one_line(row.note)});
  if (words.exchange) facts.add({"model", exchange_text(*words.exchange, row.id)});
  for (const NoteRow& note : words.notes) facts.add({"noted", fmt::format("{}, {}", one_line(note.text), note.at)});
  if (const std::optional<EditList> list = edit_list_in(row.files)) {
    facts.add({"edited", to_text(list->base)});
    for (const SourceEdit& edit : list->edits) facts.add({"", one_line(in_words(edit))});
  } else {
    for (const auto& [path, text] : row.files) facts.add({"brings", path});
  }
  const std::string reason = fault_text(evaluation.reason, evaluation.mismatch, evaluation.original);
  facts.add({"verdict", reason.empty() ? std::string(name_of(evaluation.verdict))
                                       : fmt::format("{}: {}", name_of(evaluation.verdict), reason)},
            evaluation.verdict == Verdict::valid ? Style::good : Style::bad);
  if (evaluation.mismatch && !evaluation.mismatch->looks_like.empty()) {
    facts.add(
        {"looks like", fmt::format("{} (evo diagnose {} names the stage)", evaluation.mismatch->looks_like, row.id)},
        Style::bad);
  }
  if (evaluation.comparison) facts.add({"compared", comparison_text(*evaluation.comparison)});
  if (self_consistent) facts.add({"reference", fmt::format("none: {}", kSelfConsistentOnly)}, Style::warning);
  if (evaluation.verdict == Verdict::valid) {
    facts.add({"latency", fmt::format("{} us {}{}", microseconds(evaluation.latency_us),
                                      timing_word(kind_named(run.info.device.kind).modelled),
                                      row.elite_rank ? fmt::format(", elite {}", *row.elite_rank) : "")});
  }
  for (const EliteCheck& check : row.checks)
    facts.add({check.name, fmt::format("{}: {}", enumerator_name(check.outcome), one_line(check.note))});
  if (row.elite_rank && is_provisional(row.checks))
    facts.add({"checks", reservation_about(row.checks)}, Style::warning);
  if (const std::string best = best_rival_text(row.sittings, run.info.device); !best.empty())
    facts.add({"rivals", best});
  facts.add({"task hash", run.info.task_hash});
  facts.add({"tools", tools_text(evaluation, run.info)});
  facts.add({"seeds", fmt::format("run {}, salt {:016x}", run.info.seed, evaluation.salt)});
  return facts.text(terminal, 2);
}

/// The programs, and what each kernel that is launched takes.
std::string builds_text(const Evaluation& evaluation, const Terminal& terminal) {
  Table table(
      {"program", "arch", "kernel", ">registers", ">spills B", ">static smem B", ">stack B", ">compiled ms", "cubin"});
  for (const Build& build : evaluation.builds) {
    for (const auto& [name, kernel] : build.kernels) {
      if (!kernel.launched) continue;
      table.add({build.specialisation, build.arch, name.empty() ? "all" : build.called(name),
                 std::to_string(kernel.registers), std::to_string(kernel.spill_bytes),
                 std::to_string(kernel.static_smem_bytes), std::to_string(kernel.stack_bytes),
                 fmt::format("{:.0f}", build.compile_ms), build.cubin_hash});
    }
  }
  return table.text(terminal, 2);
}

/// ", 1980 MHz, 1 other process": the state of the GPU during the timing.
std::string conditions_text(const Conditions& conditions) {
  const std::string clocks = to_text(conditions);
  std::string text = clocks.empty() ? "" : ", " + clocks;
  if (conditions.other_processes > 0) {
    text += fmt::format(", {} other process{} on the GPU", conditions.other_processes,
                        conditions.other_processes > 1 ? "es" : "");
  }
  return text;
}

std::string timings_text(const Evaluation& evaluation, const Terminal& terminal) {
  Table table({"shape", "cache", ">median us", ">low", ">high", ">samples", "spread", ">throttled", ""});
  for (const Timing& timing : evaluation.timings) {
    table.add({timing.shape, timing.cold ? "cold" : "warm", microseconds(timing.median_us), microseconds(timing.low_us),
               microseconds(timing.high_us), std::to_string(timing.samples_us.size()), spread_bar(timing.samples_us),
               std::to_string(timing.throttled), timing_word(timing.modelled) + conditions_text(timing.conditions)});
  }
  return table.text(terminal, 2);
}

/// The worst case of each shape.
std::string errors_text(const Evaluation& evaluation, const Terminal& terminal) {
  struct Worst {
    std::size_t cases = 0;
    CaseError error;
  };
  std::map<std::string, Worst> by_shape;
  for (const CaseError& error : evaluation.errors) {
    Worst& worst = by_shape[error.shape];
    // The negation makes a NaN the worst of all.
    if (worst.cases++ == 0 || !(error.relative_l2 <= worst.error.relative_l2)) worst.error = error;
  }
  Table table({"shape", ">cases", ">worst error", ">max abs", ">cosine", "regime", ">seed", "output"});
  for (const auto& [shape, worst] : by_shape) {
    table.add({shape, std::to_string(worst.cases), error_figure(worst.error.relative_l2),
               error_figure(worst.error.max_abs), fmt::format("{:.6f}", worst.error.cosine), worst.error.regime,
               std::to_string(worst.error.seed), worst.error.output});
  }
  return table.text(terminal, 2);
}

std::string summary_text(const CandidateRow& row, const RunRow& run, const Words& words, bool self_consistent,
                         const Terminal& terminal) {
  std::string text = styled(terminal, Style::bold, fmt::format("candidate {}", row.id)) + '\n';
  text += facts_text(row, run, words, self_consistent, terminal);
  for (const std::string& section : {builds_text(row.evaluation, terminal), timings_text(row.evaluation, terminal),
                                     errors_text(row.evaluation, terminal)}) {
    if (!section.empty()) text += '\n' + section;
  }
  if (const std::string bounds = bounds_text(row.evaluation.profiles); !bounds.empty()) text += '\n' + bounds;
  const std::string residency = residency_text(row.evaluation.residency) + row.evaluation.notes;
  if (!residency.empty()) text += '\n' + residency + '\n';
  if (!words.lessons.empty()) text += styled(terminal, Style::bold, "lessons of the latest runs") + '\n';
  for (const std::string& lesson : words.lessons) text += fmt::format("  - {}\n", lesson);
  return text;
}

std::string log_text(const Evaluation& evaluation) {
  std::string text;
  for (const Build& build : evaluation.builds) {
    if (evaluation.builds.size() > 1) text += fmt::format("---- {} ----\n", build.specialisation);
    text += build.log;
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  return text.empty() ? fmt::format("nothing was compiled: {}\n", reason_text(evaluation)) : text;
}

std::string samples_text(const Evaluation& evaluation) {
  std::string text = "shape\tcache\tsample\tus\n";
  for (const Timing& timing : evaluation.timings) {
    for (std::size_t i = 0; i < timing.samples_us.size(); ++i) {
      text += fmt::format("{}\t{}\t{}\t{}\n", timing.shape, timing.cold ? "cold" : "warm", i, timing.samples_us[i]);
    }
  }
  return text;
}

Json exchange_json(const std::optional<ExchangeRecord>& exchange) {
  Json json = to_json<Json>(exchange);
  if (exchange) json.update({{"prompt", exchange->prompt}, {"answer", exchange->answer}});
  return json;
}

/// Prompt and answer, as they were.
std::string whole_exchange(const std::optional<ExchangeRecord>& exchange, CandidateId id) {
  if (!exchange) throw usage_error(fmt::format("candidate {} was not proposed by a language model", id));
  return fmt::format("---- prompt ----\n{}\n---- answer of {} ----\n{}\n", printable(exchange->prompt),
                     one_line(exchange->model), printable(exchange->answer));
}

std::string show_document(const CandidateRow& candidate, const RunRow& run, const Words& words, bool self_consistent) {
  Json programs = Json::array();
  for (const StoredProgram& program : candidate.programs) {
    programs.push_back({{"specialisation", bindings_json(program.specialisation)},
                        {"max_registers", program.max_registers},
                        {"source_hash", program.source_hash},
                        {"source", program.source}});
  }
  Json json = json_document("show");
  json["candidate"] = candidate.id;
  json["ticket"] = candidate.ticket;
  json["recorded_at"] = candidate.recorded_at;
  json["op"] = candidate.op;
  json["note"] = candidate.note;
  json["notes"] = Json::array();
  for (const NoteRow& note : words.notes) json["notes"].push_back({{"at", note.at}, {"text", note.text}});
  json["exchange"] = exchange_json(words.exchange);
  json["lessons"] = words.lessons;
  json["parents"] = candidate.parents;
  json["genome"] = genome_json(candidate.genome);
  json["self_consistent"] = self_consistent;
  json["elite_rank"] = or_null(candidate.elite_rank);
  json["provisional"] = candidate.elite_rank && is_provisional(candidate.checks);
  json["checks"] = checks_json(candidate.checks);
  json["source_hash"] = candidate.source_hash;
  json["evaluation"] = evaluation_json(candidate.evaluation);
  json["profiles"] = profiles_json(candidate.evaluation.profiles);
  json["programs"] = programs;
  json["files"] = candidate.files;
  json["edits"] = edits_json(candidate.files);
  json["sittings"] = list_json(candidate.sittings, sitting_json);
  json["run"] = run_json(run);
  return json_text(json);
}

int show(const ShowRequest& request) {
  if (request.source + request.log + request.samples + request.genome + request.exchange + request.json > 1) {
    throw usage_error(
        "evo show prints one thing at a time: --source, --log, --samples, --genome, --exchange or --json");
  }
  const CandidateId id = parse_id("candidate", request.id);
  const Store store = Store::open(request.database, Store::Mode::read);
  const CandidateRow row = find_candidate(store, id);
  const RunRow run = find_run(store, row.run);
  const bool self_consistent = is_self_consistent(store, run.info.task, run.info.task_hash);
  const Words words{store.notes_of_candidate(id), store.exchange_of(id), lessons_about(store, row, run)};
  std::string text;
  if (request.json)
    text = show_document(row, run, words, self_consistent);
  else if (request.source)
    text = all_sources(row);
  else if (request.log)
    text = log_text(row.evaluation);
  else if (request.samples)
    text = samples_text(row.evaluation);
  else if (request.genome)
    text = to_json(row.genome) + '\n';
  else if (request.exchange)
    text = whole_exchange(words.exchange, id);
  else
    text = summary_text(row, run, words, self_consistent, terminal_of(stdout));
  print("{}", text);
  return kDone;
}

}  // namespace

void add_show(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "show", "Show one candidate: genome, verdict, builds, timings, errors", show);
  add_option(command, "ID", "", request.id, "The candidate's number")->required();
  command.add_flag("--source", request.source, "Print only its CUDA source");
  command.add_flag("--log", request.log, "Print only its build log");
  command.add_flag("--samples", request.samples, "Print only its timing samples, separated by tabs");
  command.add_flag("--genome", request.genome, "Print only its genome, as JSON");
  command.add_flag("--exchange", request.exchange,
                   "Print only what the language model that proposed it was asked, and its answer");
  add_usual_options(command, request);
}

}  // namespace evo::cli
