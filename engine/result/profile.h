#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/record.h"

/// Hardware counters of a candidate's launches, and the bottleneck of a launch. Counters have the names that ncu
/// (Nsight Compute) gives them; a virtual GPU's cost model fills in those that it knows.
namespace evo {

enum class CounterGroup {
  work,    ///< How much was done.
  busy,    ///< How busy a unit was, in percent of what it can sustain.
  filled,  ///< How much of the GPU was in use, in percent.
  stall,   ///< Warps in this state, per issued instruction: their proportions count.
};

enum class CounterUnit { nanoseconds, cycles, count, bytes, percent, warps };

/// A counter that is read.
struct Counter {
  std::string_view metric;  ///< As `ncu --metrics` takes it.
  std::string_view title;   ///< "tensor pipe", "barrier".
  CounterGroup group = CounterGroup::work;
  CounterUnit unit = CounterUnit::count;
};

/// All of them, in the order in which they are shown. A GPU may lack some.
std::span<const Counter> counters();

/// The metrics that code asks for by name.
namespace metric {
inline constexpr std::string_view kDuration = "gpu__time_duration.sum";
inline constexpr std::string_view kCycles = "sm__cycles_elapsed.max";
inline constexpr std::string_view kActiveCycles = "sm__cycles_active.avg";
inline constexpr std::string_view kInstructions = "sm__inst_executed.sum";
inline constexpr std::string_view kSharedWavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
inline constexpr std::string_view kBankConflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
inline constexpr std::string_view kL2Sectors = "lts__t_sectors.sum";
inline constexpr std::string_view kMemoryBytes = "dram__bytes.sum";
inline constexpr std::string_view kTensorPipe = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kIssue = "smsp__issue_active.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kAlu = "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kFma = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kDouble = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kSpecial = "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kShared = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kL2 = "lts__t_sectors.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kMemory = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr std::string_view kWarps = "sm__warps_active.avg.pct_of_peak_sustained_active";
}  // namespace metric

/// The metric of a warp state: stall_metric("barrier").
std::string stall_metric(std::string_view state);

/// By metric.
using CounterValues = std::map<std::string, double, std::less<>>;

/// The counters of one launch.
struct LaunchProfile {
  std::string kernel;
  CounterValues values;  ///< Those that the device has.

  std::optional<double> value(std::string_view metric) const;
};

EVO_RECORD(LaunchProfile, kernel, values);

/// The counters of one call at one shape, launch by launch.
struct Profile {
  std::string shape;
  bool modelled = false;  ///< From a cost model: never to be mixed with measured ones.
  std::vector<LaunchProfile> launches;
};

EVO_RECORD(Profile, shape, modelled, launches);

/// The durations of the launches together, in microseconds. Those that are not known count as 0.
double duration_us(std::span<const LaunchProfile> launches);

/// How many numbers traits_of() gives.
inline constexpr std::size_t kTraits = 20;
/// Numbers by which calls differ: the logarithm of their duration; how many launches they have; of the longest launch
/// the shares of its units, resident warps and warp states. Unknown numbers are 0.
std::vector<float> traits_of(std::span<const LaunchProfile> launches);

/// Of the shares among a call's traits the one that bounds its longest launch (Bound): the busiest unit's, or that of
/// the state in which warps wait most. Empty without counters.
std::optional<std::size_t> bounding_share(std::span<const float> traits);
/// The logarithm of the microseconds for which a call keeps the unit of a share busy, or in which its warps are in the
/// state. Shares below a percent count as one.
float log_time_of(std::span<const float> traits, std::size_t share);

/// A warp state's part of the time that warps spent.
struct StallShare {
  std::string_view state;  ///< "long scoreboard".
  double percent = 0;
};
/// The states that have a counter, the largest part first. Parts sum up to 100, or there are none.
std::vector<StallShare> stall_shares(const LaunchProfile& launch);

/// The bottleneck of a launch: a unit that is busy for 60 % of the time or more. If there is none, it is latency: warps
/// wait for each other or for answers. (The limit is that of Nsight Compute's "Speed Of Light" advice.)
struct Bound {
  std::string_view unit;             ///< The busiest unit's title; empty when no counter tells.
  double busy_percent = 0;           ///< Of that unit.
  bool by_latency = false;           ///< The busiest unit is below the limit.
  StallShare stall;                  ///< The state other than issuing in which warps spent most time; may be empty.
  std::optional<double> warps;       ///< Resident warps in percent of what fits.
  std::optional<double> active_sms;  ///< The part of the time in which the average SM had work, in percent.
};
Bound bound_of(const LaunchProfile& launch);

/// "bound by the tensor pipe (82 % busy)" and what warps wait for.
std::string in_words(const Bound& bound);

/// The launch that takes longest; null when no duration is known.
const LaunchProfile* longest_launch(std::span<const LaunchProfile> launches);

/// The bottleneck of the longest launch, in words; empty without counters.
std::string in_words(const Profile& profile);

}  // namespace evo
