#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/llm/llm_session.h"
#include "cli/llm/prompt.h"
#include "cli/llm/session_record.h"
#include "cli/proposer/proposer_messages.h"
#include "cli/proposer/proposer_setup.h"
#include "cli/report/floor_share.h"
#include "cli/report/lessons.h"
#include "cli/run/run_setup.h"

namespace evo::cli {
namespace {

struct LlmRequest {
  RunRequest run;
  std::string replayed;
  bool dry_run = false;
};

/// The newest run in the database that competes with this one.
std::optional<RunRow> run_like(const Store& store, const RunInfo& info) {
  for (RunRow& run : store.runs()) {
    if (run.evaluated > 0 && of_one_board(run.info, info)) return std::move(run);
  }
  return std::nullopt;
}

/// Prints what the model would be asked next, as if the newest run of the task went on.
int dry_run(const LlmRequest& request, const LlmOptions& options) {
  const PreparedRun run = prepare_new(request.run, "");
  const Space space = make_space(run.info.files, run.task, run.device, run.info.target, run.info.family);
  const Bindings facts = facts_of(run.device.limits);
  ProposedTemplates templates(run.info.files, run.task, run.info.target, facts);
  ProposerBriefing briefing;
  briefing.rates = rates_of(run.info.device);
  briefing.line_shares = line_shares_of(run.task, run.info.target, briefing.rates);
  briefing.build = [&](const Genome& genome) {
    if (!templates.files_of(genome).empty()) return templates.build(genome);
    return make_candidate(run.info.files, run.task, space.family(genome.family), genome, run.info.target, facts);
  };
  std::optional<Store> store;
  if (has_database(request.run.database)) store = Store::open(request.run.database, Store::Mode::read);
  const std::optional<RunRow> newest = store ? run_like(*store, run.info) : std::nullopt;
  if (store)
    briefing.lessons =
        lesson_lines(lessons_of(*store, run.info, newest ? std::optional(newest->id) : std::nullopt, space));
  ExchangeSums spent;
  if (newest) {
    spent = store->exchange_sums(newest->id);
    for (const OutcomeRow& outcome : store->outcomes(newest->id))
      templates.restore(find_candidate(*store, outcome.candidate).files);
  }
  ProposerMessages messages(run.task, run.info.target, space, run.device, run.info.files, std::move(briefing));
  if (newest) observe_run(*store, newest->id, messages);
  using Json = nlohmann::ordered_json;
  const Prompt prompt = prompt_for(Json::parse(messages.greeting()), Json::parse(messages.question(spent)),
                                   {.most_bytes = prompt_bytes(options)});
  print("{}", printable(whole_text(prompt)));
  write_to_stderr(fmt::format("{} bytes, about {} tokens{}\n", grouped(whole_text(prompt).size()),
                              grouped(estimated_tokens(whole_text(prompt))),
                              newest ? fmt::format("; as run {} would go on", newest->id) : ""));
  return kDone;
}

int llm(const LlmRequest& request) {
  if (!request.replayed.empty()) return replay_session(request.replayed);
  if (request.dry_run) {
    LlmTexts texts = request.run.llm;
    if (texts.model.empty()) texts.model = "none";  // It is not asked.
    return dry_run(request, llm_options(texts));
  }
  if (!request.run.task.empty()) throw usage_error("evo llm --task: add --dry-run to see the prompt");
  return propose_by_llm(llm_options(request.run.llm));
}

}  // namespace

void add_llm(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "llm",
      "Run a language model as a proposer, as evo run --llm does; with --dry-run print the prompt instead", llm);
  CLI::Option* dry = command.add_flag("--dry-run", request.dry_run, "Print the prompt; do not ask the model");
  add_option(command, "--replay", "FILE", request.replayed,
             "Repeat a session that --llm-record has kept, without a server, and print what was asked and answered")
      ->excludes(dry);
  add_option(command, "--task", "TASK", request.run.task, "The task (evo tasks lists them)")->needs(dry);
  add_option(command, "--device", "DEVICE", request.run.device, "As evo run takes it")->needs(dry);
  add_option(command, "--shapes", "A,B", request.run.shapes, "As evo run takes them")->needs(dry);
  add_option(command, "--option", "NAME=VALUE", request.run.options,
             "An option of the task, such as out=bf16; may be repeated")
      ->needs(dry);
  add_option(command, "--objective", "NAME", request.run.objective, "Objective of the task")->needs(dry);
  add_option(command, "--family", "NAME", request.run.family, "Only this family")->needs(dry);
  add_llm_options(command, request.run.llm);
  add_database_option(command, request.run.database);
  add_templates_option(command, request.run.templates);
}

}  // namespace evo::cli
