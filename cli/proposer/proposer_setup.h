#pragma once

#include <functional>
#include <memory>

#include "cli/proposer/proposer_messages.h"
#include "cli/proposer/proposer_process.h"
#include "cli/run/run_setup.h"
#include "engine/edits/edit_proposer.h"
#include "engine/search/proposer.h"
#include "engine/search/search.h"
#include "engine/search/share_bandit.h"
#include "engine/space/space.h"
#include "population/store/store.h"

namespace evo::cli {

/// Of a language model and of edits at least a fifth, so that they can show when they have become better.
ProposerShare proposer_share(const RunRequest& request);

/// Looks at everything about a proposer that can be wrong on the command line or on this machine.
void check_proposer(const RunRequest& request);

/// Where the time of kernels goes, by the cost model of a device with these rates; empty: there is none.
LineShareOf line_shares_of(const Task& task, const Target& target, const std::optional<DeviceInfo>& rates);

/// What is stored of a run, for the next question.
void observe_run(const Store& store, RunId run, ProposerMessages& messages);

/// The one that edits kernels; null: none is wanted. `templates` must outlive it.
std::unique_ptr<EditProposer> make_edit_proposer(const RunRequest& request, const PreparedRun& run,
                                                 const ProposedTemplates& templates,
                                                 std::function<Candidate(const Genome&)> build);

/// The proposer of a run, which has at most one; null: it has none.
inline Proposer* one_of(Proposer* process, EditProposer* edits) {
  return edits != nullptr ? edits : process;
}

/// Its process. `space`, `templates` and `store` must outlive it.
std::unique_ptr<ProposerProcess> make_proposer(const RunRequest& request, const PreparedRun& run, RunId id,
                                               const Space& space, const ProposedTemplates& templates,
                                               ProposerBriefing briefing, Store& store, const SearchLimits& limits);

/// A proposer would not give the same answers again. A resumed run takes its answers, and the templates in them, from
/// the database.
RecordedProposals recorded_proposals(const RunRequest& request, const PreparedRun& run, ProposedTemplates& templates);

}  // namespace evo::cli
