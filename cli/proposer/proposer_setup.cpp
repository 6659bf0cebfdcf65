#include "cli/proposer/proposer_setup.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/llm/chat.h"
#include "cli/llm/http_client.h"
#include "cli/llm/session_record.h"
#include "cli/model/line_shares.h"
#include "cli/subject/arguments.h"
#include "cli/text/files.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"

namespace evo::cli {
namespace {

double share_in(const char* option, const std::string& text) {
  const std::uint64_t percent = parse_number(option, text, 1);
  if (percent > 100) throw usage_error(fmt::format("{}: expected a percentage from 1 to 100", option));
  return static_cast<double>(percent) / 100;
}

/// What is no list of proposals is found before anything is done; a wrong proposal in it is refused later.
std::string proposals_in(const std::string& file) {
  constexpr std::uintmax_t kLargest = 16 << 20;
  std::string text = read_text_file(file, kLargest);
  require_shallow_json(text, file);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("proposals") || !json["proposals"].is_array())
    throw usage_error(fmt::format("--proposals {}: expected {{\"proposals\": [...]}} (docs/proposer.md)", file));
  return text;
}

}  // namespace

ProposerShare proposer_share(const RunRequest& request) {
  if (!request.proposals.empty()) return {1};
  if (request.llm.model.empty() && !request.edits) return {share_in("--proposer-share", request.proposer_share)};
  const double most =
      request.edits ? share_in("--edits-share", request.edits_share) : share_in("--llm-share", request.llm_share);
  return {most, most / 5};
}

LineShareOf line_shares_of(const Task& task, const Target& target, const std::optional<DeviceInfo>& rates) {
  if (!rates) return {};
  return [shares = std::make_shared<LineShares>(task, target, *rates)](
             const Candidate& candidate, const auto& profiles) { return shares->of(candidate, profiles); };
}

void check_proposer(const RunRequest& request) {
  proposer_share(request);
  if (request.edits && request.has_proposer())
    throw usage_error("--edits is a proposer of its own: leave out --proposer, --llm and --proposals");
  if (!request.proposals.empty()) {
    if (!request.proposer.empty() || !request.llm.model.empty())
      throw usage_error("--proposals evaluates those of its file alone: leave out --proposer and --llm");
    proposals_in(request.proposals);
    return;
  }
  if (request.llm.model.empty()) return;
  if (!request.proposer.empty()) throw usage_error("--llm is a proposer of its own: give it or --proposer");
  const LlmOptions options = llm_options(request.llm);
  ChatClient client(options, llm_key(options));
  require_http_client();
  for (const std::string& model : options.models) client.greet(model);
  require_new_record(options.record);
}

void observe_run(const Store& store, RunId run, ProposerMessages& messages) {
  std::map<CandidateId, std::uint64_t> tickets;
  for (const OutcomeRow& outcome : store.outcomes(run)) {
    tickets[outcome.candidate] = outcome.ticket;
    const CandidateRow row = find_candidate(store, outcome.candidate);
    std::vector<std::uint64_t> parents;
    for (const CandidateId parent : row.parents)
      if (const auto ticket = tickets.find(parent); ticket != tickets.end()) parents.push_back(ticket->second);
    messages.observe({row.ticket, row.genome, row.op, parents, row.note}, row.evaluation);
  }
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
  if (!request.proposals.empty()) options.answer = proposals_in(request.proposals);
  options.ends = [limits] { return limits.stop->load() || (limits.out_of_time && limits.out_of_time()); };
  options.spent = store.exchange_sums(id);
  ProposerMessages messages(run.task, run.info.target, space, run.device, run.info.files, std::move(briefing));
  // They are read before the last stored answers are told again.
  if (!request.proposals.empty()) observe_run(store, id, messages);
  auto proposer =
      std::make_unique<ProposerProcess>(std::move(options), run.task.name, space, templates, std::move(messages));
  proposer->keep_exchanges(
      [&store, id](const ExchangeRecord& exchange) { return store.record_exchange(id, exchange); });
  return proposer;
}

std::unique_ptr<EditProposer> make_edit_proposer(const RunRequest& request, const PreparedRun& run,
                                                 const ProposedTemplates& templates,
                                                 std::function<Candidate(const Genome&)> build) {
  if (!request.edits) return nullptr;
  return std::make_unique<EditProposer>(EditProposer::Options{.task = run.task.name,
                                                              .tree = run.info.files,
                                                              .seed = run.info.seed + run.recalled,
                                                              .build = std::move(build)},
                                        templates);
}

RecordedProposals recorded_proposals(const RunRequest& request, const PreparedRun& run, ProposedTemplates& templates) {
  RecordedProposals recorded;
  if (!run.resumed) return recorded;
  const Store store = Store::open(request.database, Store::Mode::read);
  for (const OutcomeRow& outcome : store.outcomes(*run.resumed)) {
    recorded.tickets = outcome.ticket + 1;
    if (!is_proposers(outcome.op)) continue;
    CandidateRow row = find_candidate(store, outcome.candidate);
    templates.restore(row.files);
    recorded.genomes[outcome.ticket] = std::move(row.genome);
  }
  return recorded;
}

}  // namespace evo::cli
