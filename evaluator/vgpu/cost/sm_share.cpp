#include "evaluator/vgpu/cost/sm_share.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "evaluator/base/random.h"

namespace evo::vgpu {
namespace {

std::vector<const RecordedBlock*> pointers(std::span<const RecordedBlock> blocks) {
  std::vector<const RecordedBlock*> all;
  for (const RecordedBlock& block : blocks) all.push_back(&block);
  return all;
}

/// What SMs get when each block begins where a place is free first.
struct Dispatch {
  std::vector<std::uint32_t> sm_of;  ///< Of each block.
  std::uint64_t last = 0;            ///< The SM that ends last.
  std::uint64_t fullest = 0;         ///< The SM whose blocks take longest one after another.
};

Dispatch dispatch(std::span<const double> clocks, const Residence& residence) {
  const std::uint64_t places = residence.sms * static_cast<std::uint64_t>(residence.blocks);
  using Free = std::pair<double, std::uint64_t>;  // When, and which place.
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (std::uint64_t place = 0; place < std::min<std::uint64_t>(places, clocks.size()); ++place) free.push({0, place});
  std::vector<double> sums(residence.sms, 0);
  Dispatch result;
  double end = -1;
  for (const double each : clocks) {
    const auto [begin, place] = free.top();
    free.pop();
    free.push({begin + each, place});
    const std::uint64_t sm = place % residence.sms;
    result.sm_of.push_back(static_cast<std::uint32_t>(sm));
    sums[sm] += each;
    if (begin + each <= end) continue;
    end = begin + each;
    result.last = sm;
  }
  result.fullest = static_cast<std::uint64_t>(std::ranges::max_element(sums) - sums.begin());
  return result;
}

/// Of `traces`, which are sorted by their work.
const RecordedBlock* stand_in(std::span<const RecordedBlock* const> traces, std::span<const BlockWork> work,
                              std::size_t block) {
  constexpr double kAboutAsMuch = 1.02;
  const double own = issue_slots(work[block]);
  const auto slots = [&](const RecordedBlock* one) { return issue_slots(work[one->number]); };
  const auto first = std::ranges::lower_bound(traces, own / kAboutAsMuch, {}, slots);
  const auto end = std::ranges::upper_bound(traces, own * kAboutAsMuch, {}, slots);
  if (first < end) return first[static_cast<std::ptrdiff_t>(mix(0, block) % static_cast<std::uint64_t>(end - first))];
  if (first == traces.begin()) return traces.front();
  if (first == traces.end()) return traces.back();
  return slots(*first) / own < own / slots(first[-1]) ? *first : first[-1];
}

}  // namespace

/// The traces of a stratum stand for its blocks: those of about as much work in turn, or the nearest. A stratum that
/// has none takes those of its neighbour.
Assigned assign(const RecordedTrace& trace, std::span<const BlockWork> work, const BlockStrata& strata) {
  std::vector<std::vector<const RecordedBlock*>> traces = strata.traces(trace);
  for (std::size_t s = 1; s < traces.size(); ++s)
    if (traces[s].empty()) traces[s] = traces[s - 1];
  for (std::size_t s = traces.size() - 1; s-- > 0;)
    if (traces[s].empty()) traces[s] = traces[s + 1];
  for (std::vector<const RecordedBlock*>& of_stratum : traces)
    std::ranges::stable_sort(of_stratum, {}, [&](const RecordedBlock* one) { return issue_slots(work[one->number]); });
  Assigned assigned;
  assigned.trace.reserve(work.size());
  assigned.ratio.reserve(work.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    const RecordedBlock* own = trace.find(i);
    const RecordedBlock* one = own != nullptr ? own : stand_in(traces[strata.stratum_of(i)], work, i);
    assigned.trace.push_back(one);
    assigned.ratio.push_back(issue_slots(work[i]) / issue_slots(work[one->number]));
  }
  return assigned;
}

double untold(const RecordedTrace& trace, std::span<const BlockWork> work, const BlockStrata& strata) {
  const Assigned assigned = assign(trace, work, strata);
  double apart = 0, all = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    apart += slots_apart(work[i], work[assigned.trace[i]->number], assigned.ratio[i]);
    all += issue_slots(work[i]);
  }
  return all > 0 ? apart / all : 0;
}

SmResult busiest_sm(const DeviceModel& model, const RecordedTrace& trace, std::span<const BlockWork> work,
                    std::uint64_t blocks, const Residence& residence, bool from_memory) {
  const BlockStrata strata(work);
  SmWork same{(blocks + residence.sms - 1) / residence.sms, residence.blocks, from_memory,
              pointers(trace.representative_blocks())};
  // Blocks go to the SMs in turn: the busiest gets one more than the others.
  if (strata.count() <= 1) return simulate_sm(model, trace, same);

  const Assigned assigned = assign(trace, work, strata);
  std::vector<double> alone(trace.blocks.size());
  for (std::size_t i = 0; i < alone.size(); ++i)
    alone[i] = simulate_sm(model, trace, {1, 1, from_memory, {&trace.blocks[i]}}).clocks;
  const auto clocks_of = [&](std::size_t block) {
    return alone[static_cast<std::size_t>(assigned.trace[block] - trace.blocks.data())];
  };
  std::vector<double> clocks(work.size());
  for (std::size_t i = 0; i < clocks.size(); ++i) clocks[i] = clocks_of(i) * assigned.ratio[i];
  const Dispatch dispatched = dispatch(clocks, residence);
  const auto simulated = [&](std::uint64_t sm) {
    SmWork own{0, residence.blocks, from_memory, {}};
    double wanted = 0, traced = 0;
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      if (dispatched.sm_of[i] != sm) continue;
      own.traces.push_back(assigned.trace[i]);
      wanted += clocks[i];
      traced += clocks_of(i);
    }
    own.blocks = own.traces.size();
    SmResult result = simulate_sm(model, trace, own);
    if (traced > 0) result.clocks *= wanted / traced;
    return result;
  };
  SmResult last = simulated(dispatched.last);
  if (dispatched.fullest == dispatched.last) return last;
  SmResult fullest = simulated(dispatched.fullest);
  return last.clocks >= fullest.clocks ? last : fullest;
}

std::vector<double> blocks_of_traces(const RecordedTrace& trace, std::span<const BlockWork> work,
                                     std::uint64_t blocks) {
  const std::span<const RecordedBlock> all = trace.representative_blocks();
  const BlockStrata strata(work);
  std::vector<double> counts(trace.blocks.size(), 0);
  if (strata.count() <= 1) {
    for (const RecordedBlock& block : all)
      counts[static_cast<std::size_t>(&block - trace.blocks.data())] =
          static_cast<double>(blocks) / static_cast<double>(all.size());
    return counts;
  }
  const Assigned assigned = assign(trace, work, strata);
  for (std::size_t i = 0; i < work.size(); ++i)
    counts[static_cast<std::size_t>(assigned.trace[i] - trace.blocks.data())] += assigned.ratio[i];
  return counts;
}

}  // namespace evo::vgpu
