#include "engine/result/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace evo {
namespace {

constexpr double kBusyPercent = 60;
/// SMs that have work for less of the time are worth a word.
constexpr double kFewActive = 75;

using Group = CounterGroup;
using Unit = CounterUnit;

constexpr std::string_view kStallBegin = "smsp__average_warps_issue_stalled_";
constexpr std::string_view kStallEnd = "_per_issue_active.ratio";

#define EVO_STALL(state, title)                                                                            \
  Counter {                                                                                                \
    "smsp__average_warps_issue_stalled_" state "_per_issue_active.ratio", title, Group::stall, Unit::warps \
  }

constexpr std::array kCounters = {
    Counter{metric::kDuration, "duration", Group::work, Unit::nanoseconds},
    Counter{metric::kCycles, "SM clocks", Group::work, Unit::cycles},
    Counter{metric::kActiveCycles, "SM clocks with work", Group::work, Unit::cycles},
    Counter{metric::kInstructions, "warp instructions", Group::work, Unit::count},
    Counter{metric::kSharedWavefronts, "shared-memory wavefronts", Group::work, Unit::count},
    Counter{metric::kBankConflicts, "bank conflicts", Group::work, Unit::count},
    Counter{metric::kL2Sectors, "L2 sectors", Group::work, Unit::count},
    Counter{metric::kMemoryBytes, "memory traffic", Group::work, Unit::bytes},
    Counter{metric::kTensorPipe, "tensor pipe", Group::busy, Unit::percent},
    Counter{metric::kIssue, "issue slots", Group::busy, Unit::percent},
    Counter{metric::kAlu, "ALU pipe", Group::busy, Unit::percent},
    Counter{metric::kFma, "FMA pipe", Group::busy, Unit::percent},
    Counter{metric::kDouble, "FP64 pipe", Group::busy, Unit::percent},
    Counter{metric::kSpecial, "special-function pipe", Group::busy, Unit::percent},
    Counter{metric::kShared, "shared-memory data pipe", Group::busy, Unit::percent},
    Counter{metric::kL2, "L2 cache", Group::busy, Unit::percent},
    Counter{metric::kMemory, "device memory", Group::busy, Unit::percent},
    Counter{metric::kWarps, "resident warps", Group::filled, Unit::percent},
    EVO_STALL("selected", "issuing"),
    EVO_STALL("not_selected", "not selected"),
    EVO_STALL("wait", "wait"),
    EVO_STALL("long_scoreboard", "long scoreboard"),
    EVO_STALL("short_scoreboard", "short scoreboard"),
    EVO_STALL("gmma", "gmma"),
    EVO_STALL("math_pipe_throttle", "math pipe throttle"),
    EVO_STALL("mio_throttle", "MIO throttle"),
    EVO_STALL("lg_throttle", "LG throttle"),
    EVO_STALL("tex_throttle", "TEX throttle"),
    EVO_STALL("barrier", "barrier"),
    EVO_STALL("membar", "membar"),
    EVO_STALL("branch_resolving", "branch resolving"),
    EVO_STALL("no_instruction", "no instruction"),
    EVO_STALL("dispatch_stall", "dispatch stall"),
    EVO_STALL("drain", "drain"),
    EVO_STALL("sleeping", "sleeping"),
    EVO_STALL("misc", "misc"),
};
#undef EVO_STALL

constexpr std::string_view kIssuing = "issuing";

struct Meaning {
  std::string_view state, meaning;
};
/// Nsight Compute's guide, "Warp Stall Reasons", in brief.
constexpr std::array kMeanings = {
    Meaning{"not selected", "another warp issued"},
    Meaning{"wait", "an instruction before it has a fixed latency"},
    Meaning{"long scoreboard", "answers from L2 or memory"},
    Meaning{"short scoreboard", "answers from shared memory or the special-function pipe"},
    Meaning{"gmma", "warpgroup products"},
    Meaning{"math pipe throttle", "a busy arithmetic pipe"},
    Meaning{"MIO throttle", "a full queue of shared-memory and special instructions"},
    Meaning{"LG throttle", "a full queue of global accesses"},
    Meaning{"TEX throttle", "a full queue of the texture unit"},
    Meaning{"barrier", "other warps at a barrier"},
    Meaning{"membar", "a memory fence"},
    Meaning{"branch resolving", "the target of a branch"},
    Meaning{"no instruction", "instructions that are not in the cache"},
    Meaning{"dispatch stall", "the dispatcher"},
    Meaning{"drain", "stores at the end"},
    Meaning{"sleeping", "nanosleep"},
};

std::string_view meaning_of(std::string_view state) {
  const auto found = std::ranges::find(kMeanings, state, &Meaning::state);
  return found == kMeanings.end() ? "" : found->meaning;
}

constexpr std::array kTraitMetrics = {metric::kTensorPipe, metric::kIssue,   metric::kAlu,    metric::kFma,
                                      metric::kDouble,     metric::kSpecial, metric::kShared, metric::kL2,
                                      metric::kMemory,     metric::kWarps};
constexpr std::array<std::string_view, 8> kTraitStates = {
    "issuing", "wait", "long scoreboard", "short scoreboard", "gmma", "math pipe throttle", "barrier", "not selected"};
constexpr std::size_t kFirstShare = 2;  // behind the duration and the number of launches
static_assert(kTraitMetrics.back() == metric::kWarps && kTraitStates.front() == kIssuing);
static_assert(kFirstShare + kTraitMetrics.size() + kTraitStates.size() == kTraits);

std::optional<double> part(std::optional<double> of, std::optional<double> whole) {
  if (!of || !whole || *whole <= 0) return std::nullopt;
  return 100 * *of / *whole;
}

}  // namespace

std::span<const Counter> counters() {
  return kCounters;
}

std::string stall_metric(std::string_view state) {
  return fmt::format("{}{}{}", kStallBegin, state, kStallEnd);
}

std::optional<double> LaunchProfile::value(std::string_view metric) const {
  const auto found = values.find(metric);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

double duration_us(std::span<const LaunchProfile> launches) {
  double ns = 0;
  for (const LaunchProfile& launch : launches) ns += launch.value(metric::kDuration).value_or(0);
  return ns / 1e3;
}

std::vector<float> traits_of(std::span<const LaunchProfile> launches) {
  std::vector<float> traits(kTraits);
  const LaunchProfile* longest = longest_launch(launches);
  if (longest == nullptr) return traits;
  const double whole_us = duration_us(launches);
  traits[0] = static_cast<float>(std::log(std::max(whole_us, 1e-3)));
  traits[1] = static_cast<float>(launches.size());
  std::size_t next = kFirstShare;
  for (const std::string_view metric : kTraitMetrics)
    traits[next++] = static_cast<float>(longest->value(metric).value_or(0));
  const std::vector<StallShare> shares = stall_shares(*longest);
  for (const std::string_view state : kTraitStates) {
    const auto share = std::ranges::find(shares, state, &StallShare::state);
    traits[next++] = share == shares.end() ? 0 : static_cast<float>(share->percent);
  }
  return traits;
}

std::optional<std::size_t> bounding_share(std::span<const float> traits) {
  if (traits.size() < kTraits) return std::nullopt;
  const auto busy = traits.subspan(kFirstShare, kTraitMetrics.size() - 1);  // the last one is resident warps
  const auto busiest = std::ranges::max_element(busy);
  if (*busiest >= kBusyPercent) return kFirstShare + static_cast<std::size_t>(busiest - busy.begin());
  const auto waiting = traits.subspan(kFirstShare + kTraitMetrics.size() + 1, kTraitStates.size() - 1);  // not issuing
  const auto longest = std::ranges::max_element(waiting);
  if (*longest <= 0) return std::nullopt;
  return kFirstShare + kTraitMetrics.size() + 1 + static_cast<std::size_t>(longest - waiting.begin());
}

float log_time_of(std::span<const float> traits, std::size_t share) {
  return traits[0] + std::log(std::max(traits[share], 1.0F) / 100);
}

std::vector<StallShare> stall_shares(const LaunchProfile& launch) {
  std::vector<StallShare> shares;
  double whole = 0;
  for (const Counter& counter : kCounters) {
    if (counter.group != Group::stall) continue;
    const std::optional<double> value = launch.value(counter.metric);
    if (!value) continue;
    shares.push_back({counter.title, *value});
    whole += *value;
  }
  if (whole <= 0) return {};
  for (StallShare& share : shares) share.percent *= 100 / whole;
  std::ranges::stable_sort(shares, std::ranges::greater(), &StallShare::percent);
  return shares;
}

Bound bound_of(const LaunchProfile& launch) {
  Bound bound;
  for (const Counter& counter : kCounters) {
    if (counter.group != Group::busy) continue;
    const std::optional<double> busy = launch.value(counter.metric);
    if (busy && (bound.unit.empty() || *busy > bound.busy_percent)) {
      bound.unit = counter.title;
      bound.busy_percent = *busy;
    }
  }
  bound.by_latency = !bound.unit.empty() && bound.busy_percent < kBusyPercent;
  for (const StallShare& share : stall_shares(launch)) {
    if (share.state == kIssuing) continue;
    bound.stall = share;
    break;
  }
  bound.warps = launch.value(metric::kWarps);
  bound.active_sms = part(launch.value(metric::kActiveCycles), launch.value(metric::kCycles));
  return bound;
}

std::string in_words(const Bound& bound) {
  if (bound.unit.empty()) return "";
  std::string text =
      bound.by_latency ? fmt::format("bound by latency: the busiest unit, the {}, is busy for {:.0f} % of the time",
                                     bound.unit, bound.busy_percent)
                       : fmt::format("bound by the {}: busy for {:.0f} % of the time", bound.unit, bound.busy_percent);
  if (!bound.stall.state.empty()) {
    const std::string_view meaning = meaning_of(bound.stall.state);
    text += fmt::format("; warps wait most in {} ({}{:.0f} %)", bound.stall.state,
                        meaning.empty() ? "" : fmt::format("for {}, ", meaning), bound.stall.percent);
  }
  if (bound.by_latency && bound.warps)
    text += fmt::format("; {:.0f} % of the warps that fit are resident", *bound.warps);
  if (bound.active_sms && *bound.active_sms < kFewActive)
    text += fmt::format("; the average SM has work for {:.0f} % of the time", *bound.active_sms);
  return text;
}

const LaunchProfile* longest_launch(std::span<const LaunchProfile> launches) {
  const LaunchProfile* longest = nullptr;
  for (const LaunchProfile& launch : launches) {
    const std::optional<double> duration = launch.value(metric::kDuration);
    if (duration && (longest == nullptr || *duration > *longest->value(metric::kDuration))) longest = &launch;
  }
  return longest;
}

std::string in_words(const Profile& profile) {
  const LaunchProfile* longest = longest_launch(profile.launches);
  return longest == nullptr ? "" : in_words(bound_of(*longest));
}

}  // namespace evo
