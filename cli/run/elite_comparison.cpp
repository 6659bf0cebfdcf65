#include "cli/run/elite_comparison.h"

#include <fmt/format.h>

#include "cli/subject/restore.h"
#include "cli/text/format.h"
#include "engine/base/error.h"
#include "engine/base/noticeable.h"

namespace evo::cli {
namespace {

constexpr int kJudgedRounds = 9;
/// After so many rounds a match over an elite's place is over, where its whole interval is so far from 1, or so near
/// that the difference cannot be noticed. Of equals, whose pairs scatter by 1 %, one in 40 is then called faster, as
/// after all rounds.
constexpr std::size_t kPlainRounds = 3;
constexpr double kPlainMargin = 0.01;

/// The first one's latency over the second one's.
PairedRatio ratio_of_pair(const Turns& turns) {
  return paired_ratio(turns.rounds_us[0], turns.rounds_us[1], turns.modelled);
}

EliteRuling rule(const Turns& turns, CandidateId incumbent) {
  // An incumbent that does not run any more is no elite to keep; a challenger that does not is none to take.
  if (turns.failures[1])
    return {true, fmt::format("displaced elite {}, which failed: {}", incumbent, *turns.failures[1])};
  if (turns.failures[0])
    return {false, fmt::format("no elite: it failed beside elite {}: {}", incumbent, *turns.failures[0])};
  const PairedRatio ratio = ratio_of_pair(turns);
  const Ranking found = ranking(ratio);
  return {found == Ranking::faster, fmt::format("{} beside elite {}: {} of its latency over {} rounds in turns",
                                                name_of(found), incumbent, ratio_text(ratio), ratio.pairs)};
}

}  // namespace

bool comparison_decided(const Turns& turns) {
  if (turns.failures[0] || turns.failures[1]) return true;
  const PairedRatio ratio = ratio_of_pair(turns);
  return ratio.pairs >= kPlainRounds && (plainly_differ(ratio, kPlainMargin) || plainly_same(ratio, kNoticeable));
}

EliteJudge elite_judge(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                       const DeviceInfo& device) {
  if (device.kind == "vgpu") return {};
  return [&](const Candidate& challenger, CandidateId incumbent) {
    const Restored elite = restore(store, incumbent);
    if (elite.task.hash != task.hash) throw machine_error("an elite of another task competes: please report this");
    return rule(
        pipeline.time_in_turns({challenger, restored_candidate(elite, target)}, kJudgedRounds, comparison_decided),
        incumbent);
  };
}

}  // namespace evo::cli
