#include "evaluator/vgpu/cost/waiting.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evaluator/vgpu/cost/block_strata.h"
#include "evaluator/vgpu/cost/sm_simulation.h"

namespace evo::vgpu {
namespace {

/// What the warps of a trace do that concerns others, each in turn, with its time when the block runs alone.
using Timeline = std::vector<std::vector<Mark>>;

std::uint64_t key_of(std::uint64_t block, std::uint32_t warp, std::uint32_t ordinal) {
  return block << 37 | std::uint64_t{warp} << 32 | ordinal;
}

/// The writes that somebody waits for, and those that these go on from.
class Releases {
 public:
  explicit Releases(const WaitLog& log) : log_(log), of_block_(log.waits().size()), states_(log.releases().size()) {
    for (const auto& of_block : log.waits())
      for (const Wait& wait : of_block)
        for (const std::uint32_t number : wait.releases) need(number);
  }
  /// kNoRelease: nobody waits for it.
  std::uint32_t find(std::uint64_t block, std::uint32_t warp, std::uint32_t ordinal) const {
    const auto found = by_place_.find(key_of(block, warp, ordinal));
    return found == by_place_.end() ? kNoRelease : found->second;
  }
  const std::vector<std::uint32_t>& of_block(std::uint64_t block) const { return of_block_[block]; }
  std::size_t count() const { return states_.size(); }
  std::uint32_t before(std::uint32_t number) const { return log_.releases()[number].before; }
  std::uint32_t after(std::uint32_t number) const { return states_[number].after; }

 private:
  struct State {
    bool needed = false;
    std::uint32_t after = kNoRelease;  ///< The atomic that goes on from it.
  };
  void need(std::uint32_t number) {
    while (number != kNoRelease && !states_[number].needed) {
      const Release& release = log_.releases()[number];
      states_[number].needed = true;
      by_place_[key_of(release.block, release.warp, release.ordinal)] = number;
      of_block_[release.block].push_back(number);
      if (release.before != kNoRelease) states_[release.before].after = number;
      number = release.before;
    }
  }

  const WaitLog& log_;
  std::vector<std::vector<std::uint32_t>> of_block_;
  std::vector<State> states_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_place_;
};

/// All blocks of a launch on all SMs.
class Schedule {
 public:
  struct Part {
    const Timeline* timeline = nullptr;
    double ratio = 1;  ///< Of the block's time to the trace's.
  };
  /// `log` null: nobody waits. `look`: from a write to the read that sees it. `gap`: between two blocks of a place.
  Schedule(std::span<const Part> parts, const WaitLog* log, const Releases& releases, double look, double gap)
      : parts_(parts), log_(log), releases_(releases), look_(look), gap_(gap), running_(parts.size()) {
    if (log_ != nullptr) made_.resize(releases_.count());
  }

  /// When the last block ends.
  double run(std::uint64_t places) {
    while (next_ < std::min<std::uint64_t>(places, parts_.size())) start(next_++, 0);
    while (live_ > 0) {
      if (turns_.empty()) {
        give_up_a_wait();
        continue;
      }
      const Turn turn = turns_.top();
      turns_.pop();
      step(turn);
    }
    return end_;
  }

 private:
  struct Turn {
    double time = 0;
    std::uint64_t block = 0;
    std::uint32_t warp = 0;
    bool operator>(const Turn& other) const {
      return std::tie(time, block, warp) > std::tie(other.time, other.block, other.warp);
    }
  };
  struct Meeting {
    std::uint32_t arrived = 0;
    double alone = 0, now = 0;  ///< The latest arrival: in the trace, and here.
    std::vector<std::uint32_t> waiting;
  };
  struct WarpState {
    std::size_t at = 0;
    double delay = 0;
    std::uint32_t waits = 0, releases = 0;  ///< So far.
    bool gives_up = false;
  };
  struct Running {
    double start = 0;
    std::size_t warps = 0;  ///< That have not ended.
    std::vector<WarpState> states;
    std::array<Meeting, 16> meetings;
  };
  /// A write that somebody waits for.
  struct Made {
    bool own = false, all = false;  ///< Itself; with those that it goes on from.
    double time = 0;
    std::vector<Turn> waiting;
  };

  void start(std::uint64_t block, double time) {
    ++live_;
    Running& running = running_[block];
    running.start = time;
    running.warps = parts_[block].timeline->size();
    running.states.resize(running.warps);
    for (std::uint32_t warp = 0; warp < running.warps; ++warp) await(block, warp);
  }

  const Mark& mark_of(std::uint64_t block, std::uint32_t warp) const {
    return (*parts_[block].timeline)[warp][running_[block].states[warp].at];
  }
  /// The time of the warp's next mark.
  double time_of(std::uint64_t block, std::uint32_t warp) const {
    const Running& running = running_[block];
    return running.start + mark_of(block, warp).time * parts_[block].ratio + running.states[warp].delay;
  }
  void await(std::uint64_t block, std::uint32_t warp) { turns_.push({time_of(block, warp), block, warp}); }
  void go_on(std::uint64_t block, std::uint32_t warp) {
    ++running_[block].states[warp].at;
    await(block, warp);
  }

  void step(const Turn& turn) {
    Running& running = running_[turn.block];
    WarpState& state = running.states[turn.warp];
    const Mark& mark = mark_of(turn.block, turn.warp);
    switch (mark.kind) {
      case Mark::Kind::wait:
        if (!waited(turn, state)) return;
        break;
      case Mark::Kind::release:
        make(log_ == nullptr ? kNoRelease : releases_.find(turn.block, turn.warp, state.releases++), turn.time);
        break;
      case Mark::Kind::barrier:
        if (!meet(turn, mark, running)) return;
        break;
      case Mark::Kind::end:
        if (--running.warps == 0) end_block(turn.block, turn.time);
        return;
    }
    go_on(turn.block, turn.warp);
  }

  /// False when the warp must wait for a write that has not been made.
  bool waited(const Turn& turn, WarpState& state) {
    if (log_ == nullptr) return true;
    double seen = turn.time;
    for (const Wait& wait : waits_of(turn.block, turn.warp, state)) {
      for (const std::uint32_t number : wait.releases) {
        Made& made = made_[number];
        if (!made.all && !state.gives_up) {
          made.waiting.push_back(turn);
          return false;
        }
        if (made.all) seen = std::max(seen, made.time);
      }
    }
    if (seen > turn.time) state.delay += seen - turn.time;
    state.gives_up = false;
    ++state.waits;
    return true;
  }

  /// Those of the warp's next mark that waits. The last one has all that are left: the trace may have fewer.
  std::span<const Wait> waits_of(std::uint64_t block, std::uint32_t warp, const WarpState& state) const {
    const std::vector<Wait>& waits = log_->waits()[block];
    const auto from = [&](std::uint32_t ordinal) {
      const auto before = [](const Wait& one, const auto& place) { return std::pair(one.warp, one.ordinal) < place; };
      return std::lower_bound(waits.begin(), waits.end(), std::pair(warp, ordinal), before);
    };
    const std::vector<Mark>& marks = (*parts_[block].timeline)[warp];
    const bool last = std::none_of(marks.begin() + static_cast<std::ptrdiff_t>(state.at) + 1, marks.end(),
                                   [](const Mark& mark) { return mark.kind == Mark::Kind::wait; });
    return {from(state.waits), from(last ? kNoRelease : state.waits + 1)};
  }

  void make(std::uint32_t number, double time) {
    if (number == kNoRelease || made_[number].own) return;
    made_[number].own = true;
    made_[number].time = time + look_;
    for (; number != kNoRelease && made_[number].own; number = releases_.after(number)) {
      Made& made = made_[number];
      if (const std::uint32_t before = releases_.before(number); before != kNoRelease) {
        if (!made_[before].all) return;
        made.time = std::max(made.time, made_[before].time);
      }
      made.all = true;
      for (const Turn& turn : std::exchange(made.waiting, {})) wake(turn, made.time);
    }
  }

  void wake(Turn turn, double time) {
    if (time > turn.time) running_[turn.block].states[turn.warp].delay += time - turn.time;
    turn.time = std::max(turn.time, time);
    turns_.push(turn);
  }

  /// False when the warp goes on with the others that wait.
  bool meet(const Turn& turn, const Mark& mark, Running& running) {
    Meeting& meeting = running.meetings[mark.barrier % running.meetings.size()];
    meeting.alone = std::max(meeting.alone, mark.time * parts_[turn.block].ratio);
    meeting.now = std::max(meeting.now, turn.time - running.start);
    if (mark.waits) meeting.waiting.push_back(turn.warp);
    if (++meeting.arrived < mark.expected_warps) return !mark.waits;
    const Meeting complete = std::exchange(meeting, {});
    for (const std::uint32_t warp : complete.waiting) {
      running.states[warp].delay = complete.now - complete.alone;
      if (warp != turn.warp) go_on(turn.block, warp);
    }
    return true;
  }

  void end_block(std::uint64_t block, double time) {
    --live_;
    end_ = std::max(end_, time);
    running_[block] = {};
    if (log_ != nullptr)
      for (const std::uint32_t number : releases_.of_block(block)) make(number, time);
    if (next_ < parts_.size()) start(next_++, time + gap_);
  }

  /// The interpreter's order was another one than this: somebody waits for a block that has no place.
  void give_up_a_wait() {
    for (Made& made : made_) {
      if (made.waiting.empty()) continue;
      for (const Turn& turn : std::exchange(made.waiting, {})) {
        running_[turn.block].states[turn.warp].gives_up = true;
        turns_.push(turn);
      }
      return;
    }
    live_ = 0;  // A barrier that the traces do not complete.
  }

  std::span<const Part> parts_;
  const WaitLog* log_;
  const Releases& releases_;
  double look_ = 0, gap_ = 0, end_ = 0;
  std::vector<Running> running_;
  std::vector<Made> made_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::uint64_t next_ = 0, live_ = 0;
};

Timeline timeline_of(const DeviceModel& model, const RecordedTrace& trace, const RecordedBlock& block,
                     bool from_memory) {
  Timeline timeline(block.warps);
  std::vector<Mark> marks;
  simulate_sm(model, trace, {1, 1, from_memory, {&block}, &marks});
  for (const Mark& mark : marks) timeline[static_cast<std::size_t>(mark.warp)].push_back(mark);
  for (std::vector<Mark>& warp : timeline)  // One that the simulation has not ended waits for what was not traced.
    if (warp.empty() || warp.back().kind != Mark::Kind::end)
      warp.push_back({.time = warp.empty() ? 0 : warp.back().time});
  return timeline;
}

}  // namespace

double waiting_clocks(const DeviceModel& model, const RecordedTrace& trace, std::span<const BlockWork> work,
                      const WaitLog& waits, const Residence& residence, bool from_memory) {
  if (waits.empty()) return 0;
  const Assigned assigned = assign(trace, work, BlockStrata(work));
  std::unordered_map<const RecordedBlock*, Timeline> timelines;
  for (const RecordedBlock& block : trace.blocks) timelines[&block] = timeline_of(model, trace, block, from_memory);
  std::vector<Schedule::Part> parts;
  for (std::size_t block = 0; block < work.size(); ++block)
    parts.push_back({&timelines[assigned.trace[block]], assigned.ratio[block]});
  const Releases releases(waits);
  const std::uint64_t places = residence.sms * static_cast<std::uint64_t>(residence.blocks);
  // A look takes a round trip: on average half a one passes until the next look.
  const double look = model.latencies.l2 / 2;
  const double with = Schedule(parts, &waits, releases, look, model.block_launch_clocks).run(places);
  const double without = Schedule(parts, nullptr, releases, look, model.block_launch_clocks).run(places);
  return std::max(0.0, with - without);
}

}  // namespace evo::vgpu
