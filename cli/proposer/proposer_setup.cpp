#include "cli/proposer/proposer_setup.h"

#include <fmt/format.h>

#include <chrono>

#include "cli/llm/http_client.h"
#include "cli/subject/arguments.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

double share_in(const char* option, const std::string& text) {
  const std::uint64_t percent = parse_number(option, text, 1);
  if (percent > 100) throw usage_error(fmt::format("{}: expected a percentage from 1 to 100", option));
  return static_cast<double>(percent) / 100;
}

}  // namespace

ProposerShare proposer_share(const RunRequest& request) {
  if (request.llm.model.empty()) return {share_in("--proposer-share", request.proposer_share)};
  const double most = share_in("--llm-share", request.llm_share);
  return {most, most / 5};
}

void check_proposer(const RunRequest& request) {
  proposer_share(request);
  if (request.llm.model.empty()) return;
  if (!request.proposer.empty()) throw usage_error("--llm is a proposer of its own: give it or --proposer");
  llm_key(llm_options(request.llm));
  require_http_client();
}

bool has_proposer(const RunRequest& request) {
  return !request.proposer.empty() || !request.llm.model.empty();
}

std::unique_ptr<ProposerProcess> make_proposer(const RunRequest& request, const PreparedRun& run, RunId id,
                                               const Space& space, const ProposedTemplates& templates,
                                               ProposerBriefing briefing, Store& store, const SearchLimits& limits) {
  const auto deadline = parse_duration("--proposer-deadline", request.proposer_deadline);
  ProposerOptions options{.command = request.proposer, .deadline_s = std::chrono::duration<double>(deadline).count()};
  if (!request.llm.model.empty()) {
    options.evo = llm_arguments(request.llm);
    options.environment = llm_environment();
  }
  options.ends = [limits] { return limits.stop->load() || (limits.out_of_time && limits.out_of_time()); };
  options.spent = store.exchange_sums(id);
  ProposerMessages messages(run.task, run.info.target, space, run.device, run.info.files, std::move(briefing));
  auto proposer =
      std::make_unique<ProposerProcess>(std::move(options), run.task.name, space, templates, std::move(messages));
  proposer->keep_exchanges(
      [&store, id](const ExchangeRecord& exchange) { return store.record_exchange(id, exchange); });
  return proposer;
}

RecordedProposals recorded_proposals(const RunRequest& request, const PreparedRun& run, ProposedTemplates& templates) {
  RecordedProposals recorded;
  if (!run.resumed) return recorded;
  const Store store = Store::open(request.database, Store::Mode::read);
  for (const OutcomeRow& outcome : store.outcomes(*run.resumed)) {
    recorded.tickets = outcome.ticket + 1;
    if (outcome.op != "proposer") continue;
    CandidateRow row = find_candidate(store, outcome.candidate);
    templates.restore(row.files);
    recorded.genomes[outcome.ticket] = std::move(row.genome);
  }
  return recorded;
}

}  // namespace evo::cli
