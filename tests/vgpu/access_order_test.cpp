// The sanitiser's history of a place against a list of all its accesses: every order in which three threads can access
// it and learn of each other, up to a length.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "evaluator/vgpu/sanitiser/access_history.h"

using namespace evo::vgpu;

namespace {

constexpr std::uint32_t kThreads = 3;

enum class Kind : std::uint8_t { read, write, strong_read, strong_write, addition, exchange, block_addition, learn };

bool writes(Kind kind) {
  return kind != Kind::read && kind != Kind::strong_read;
}
bool is_strong(Kind kind) {
  return kind != Kind::read && kind != Kind::write;
}
/// It sees the strong writes before it: a load, or an atomic whose result is used.
bool sees(Kind kind) {
  return kind == Kind::strong_read || kind == Kind::exchange;
}

/// A thread's access, or `thread` learns all that `other` has done.
struct Event {
  Kind kind = Kind::read;
  std::uint32_t thread = 0;
  std::uint32_t other = 0;
};

/// The block of each thread, and its number there.
struct Place {
  std::array<std::uint32_t, kThreads> block{};
  std::array<std::uint32_t, kThreads> thread{};
};

/// All accesses so far, and for each thread which of them happen before what it does next.
class Oracle {
 public:
  explicit Oracle(const Place& place) : place_(&place) {}

  /// Whether the access races with an earlier one.
  bool add(const Event& event) {
    if (event.kind == Kind::learn) {
      known_[event.thread] |= known_[event.other];
      return false;
    }
    bool races = false;
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      const bool ordered = (known_[event.thread] >> i & 1u) != 0;
      if (ordered || (!writes(accesses_[i].kind) && !writes(event.kind))) continue;
      if (!atomic_to_each_other(accesses_[i], event)) {
        races = true;
      } else if (sees(event.kind) && writes(accesses_[i].kind)) {
        known_[event.thread] |= covers_[i];
      }
    }
    std::uint64_t covers = 1ull << accesses_.size();
    for (std::size_t i = 0; i < accesses_.size(); ++i)
      if ((known_[event.thread] >> i & 1u) != 0 && stands_for(event.kind, accesses_[i].kind)) covers |= 1ull << i;
    known_[event.thread] |= 1ull << accesses_.size();
    accesses_.push_back(event);
    covers_.push_back(covers);
    return races;
  }

 private:
  bool atomic_to_each_other(const Event& a, const Event& b) const {
    const bool same_block = place_->block[a.thread] == place_->block[b.thread];
    const bool of_block = a.kind == Kind::block_addition || b.kind == Kind::block_addition;
    return is_strong(a.kind) && is_strong(b.kind) && (same_block || !of_block);
  }

  /// Whether all that conflicts with `old` conflicts with `fresh`.
  static bool stands_for(Kind fresh, Kind old) {
    if (writes(old) && !writes(fresh)) return false;
    if (!is_strong(fresh)) return true;
    return is_strong(old) && (fresh == Kind::block_addition || old != Kind::block_addition);
  }

  const Place* place_;
  std::vector<Event> accesses_;
  /// Of each access: itself and those before it that it stands for. Who sees it comes after all of them.
  std::vector<std::uint64_t> covers_;
  std::array<std::uint64_t, kThreads> known_{};
};

/// The same with the history and vector clocks.
class Watched {
 public:
  explicit Watched(const Place& place) : place_(&place) {}

  void start() {
    history_.clear();
    clocks_ = {};
    now_.fill(1);
    seen_ = {};
  }

  bool add(const Event& event) {
    VectorClock& clock = clocks_[event.thread];
    const std::uint32_t block = place_->block[event.thread], thread = place_->thread[event.thread];
    if (event.kind == Kind::learn) {
      clock.join(clocks_[event.other]);
      clock.raise(place_->block[event.other], place_->thread[event.other], now_[event.other]++);
      return false;
    }
    Accessor by;
    by.block = block;
    by.thread = thread;
    by.now = now_[event.thread];
    by.known = &clock;
    by.flags.strong = is_strong(event.kind);
    by.flags.block_scope = event.kind == Kind::block_addition;
    by.sees = sees(event.kind) ? &seen_ : nullptr;
    const bool races = (writes(event.kind) ? history_.write(0, 4, by) : history_.read(0, 4, by)).has_value();
    for (const std::uint32_t number : seen_.fresh) clock.raise(kSeenWrites, number, 1);
    seen_.fresh.clear();
    return races;
  }

 private:
  const Place* place_;
  AccessHistory history_{16, 1024};
  std::array<VectorClock, kThreads> clocks_;
  std::array<std::uint32_t, kThreads> now_{};
  SeenWrites seen_;
};

std::string text_of(const std::vector<Event>& events) {
  static const char* const kNames[] = {"reads", "writes",    "reads strongly",    "writes strongly",
                                       "adds",  "exchanges", "adds in its block", "learns of"};
  std::string text;
  for (const Event& event : events) {
    text += "thread " + std::to_string(event.thread) + " " + kNames[static_cast<std::size_t>(event.kind)];
    if (event.kind == Kind::learn) text += " thread " + std::to_string(event.other);
    text += "; ";
  }
  return text;
}

struct Outcome {
  std::uint64_t orders = 0;
  std::uint64_t races = 0;
  std::string wrong;  ///< The first order on which the two differ.
};

/// Goes on from `events`, which has no race so far, until `length` or the first race.
void go_on(std::vector<Event>& events, std::size_t length, const std::vector<Event>& possible, Watched& watched,
           const Place& place, Outcome& outcome) {
  for (const Event& next : possible) {
    if (!outcome.wrong.empty()) return;
    events.push_back(next);
    Oracle oracle(place);
    watched.start();
    bool races = false, found = false;
    for (const Event& event : events) {
      races = oracle.add(event);
      found = watched.add(event);
    }
    ++outcome.orders;
    outcome.races += races;
    if (races != found) outcome.wrong = text_of(events) + (races ? "a race is missed" : "no race, but one is found");
    if (!races && events.size() < length) go_on(events, length, possible, watched, place, outcome);
    events.pop_back();
  }
}

Outcome compare(const Place& place, const std::vector<Kind>& kinds, std::size_t length) {
  std::vector<Event> possible;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    for (const Kind kind : kinds) possible.push_back({kind, thread, 0});
    for (std::uint32_t other = 0; other < kThreads; ++other)
      if (other != thread) possible.push_back({Kind::learn, thread, other});
  }
  Outcome outcome;
  Watched watched(place);
  std::vector<Event> events;
  go_on(events, length, possible, watched, place, outcome);
  return outcome;
}

const std::vector<Kind> kUsual = {Kind::read, Kind::write, Kind::strong_read, Kind::addition, Kind::exchange};

}  // namespace

TEST_CASE("the history finds the first race in every order of accesses of three threads, and no other") {
  // Lanes of one warp; threads of two warps; threads of two blocks.
  const std::vector<Place> places = {{{0, 0, 0}, {0, 1, 2}}, {{0, 0, 0}, {0, 1, 40}}, {{0, 0, 1}, {0, 40, 0}}};
  for (const Place& place : places) {
    const Outcome outcome = compare(place, kUsual, 5);
    INFO(outcome.wrong);
    CHECK(outcome.wrong.empty());
    CHECK(outcome.orders > 100'000);
    CHECK(outcome.races > 10'000);
  }
}

TEST_CASE("the history finds the first race of atomics with the scope of a block, too") {
  const std::vector<Kind> kinds = {Kind::read, Kind::write, Kind::addition, Kind::block_addition};
  const Outcome in_block = compare({{0, 0, 0}, {0, 1, 40}}, kinds, 5);
  CHECK(in_block.wrong == "");
  CHECK(in_block.races > 10'000);
  // Of two blocks, one thread each.
  const Outcome of_blocks = compare({{0, 1, 2}, {0, 0, 0}}, {Kind::write, Kind::block_addition}, 5);
  CHECK(of_blocks.wrong == "");
  CHECK(of_blocks.races > 1'000);
}
