#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/profile.h"
#include "engine/task/verdict.h"

namespace evo {

/// One compiled program.
struct Build {
  std::string specialisation;  ///< "D=64".
  std::string arch;            ///< "sm_90a".
  int registers = 0;
  int spill_bytes = 0;  ///< Stores and loads together.
  int static_smem_bytes = 0;
  int stack_bytes = 0;
  std::string cubin_hash;
  std::string log;
  double compile_ms = 0;
  std::string flags = {};  ///< The compiler's flags, separated by spaces; empty: unknown.
  /// What launches may call its kernels ("scale", "ns::scale", "reduce<float, 256>"), and their names in the PTX.
  std::map<std::string, std::string> kernels = {};
  std::map<std::string, std::string> variables = {};  ///< The same of those that plans fill ("ns::weights").

  /// A name that is not among `kernels` stands for itself.
  const std::string& ptx_name(const std::string& kernel) const { return name_in(kernels, kernel); }
  /// The same of `variables`.
  const std::string& variable_name(const std::string& symbol) const { return name_in(variables, symbol); }

 private:
  static const std::string& name_in(const std::map<std::string, std::string>& names, const std::string& wanted) {
    const auto found = names.find(wanted);
    return found == names.end() ? wanted : found->second;
  }
};

/// One validated case: shape x seed x regime, one output.
struct CaseError {
  std::string shape;
  std::uint64_t seed = 0;
  std::string regime;
  std::string output;
  double relative_l2 = 0;
  double max_abs = 0;
  double cosine = 1;
};

/// The state of a GPU while it was timed. Zeros: unknown.
struct Conditions {
  int sm_mhz_low = 0;
  int sm_mhz_high = 0;
  int memory_mhz = 0;          ///< The lowest.
  int other_processes = 0;     ///< Processes other than evo's that computed on the GPU.
  bool power_limited = false;  ///< The GPU's power limit lowered its clocks, because of what the kernel draws: no
                               ///< disturbance. The driver may report it late.
  int temperature_c = 0;       ///< The highest.
};

/// "SM 1755-1980 MHz (power limit), memory 3201 MHz, 61 C"; empty where unknown.
std::string to_text(const Conditions& conditions);

/// Whether an SM clock is a GPU's full one, within 1 %. An unknown clock (0) is not.
bool is_full_clock(int sm_mhz, double full_mhz);

/// One shape's latency. `modelled` times come from the virtual GPU's cost model and never mix with measured
/// ones.
struct Timing {
  std::string shape;
  bool modelled = false;
  bool cold = false;
  double median_us = 0;
  double low_us = 0;  ///< 95 % confidence interval of the median.
  double high_us = 0;
  int throttled = 0;  ///< Samples dropped.
  std::vector<double> samples_us;
  Conditions conditions = {};
};

/// Where an evaluation spent its time, in seconds. Zeros: unknown, or it came no further.
struct PhaseTimes {
  double waiting_s = 0;     ///< For its programs to be compiled, with nothing else to evaluate meanwhile.
  double validation_s = 0;  ///< Every run and comparison ahead of the timing, the sanitiser's among them.
  double timing_s = 0;
};

/// Where a candidate ran. Empty texts: it did not, or nobody knows.
struct RanOn {
  std::string device;  ///< "cuda:1", by its number on that host.
  std::string uuid;    ///< Empty for a virtual GPU.
  std::string host;
};

/// What stands in the reason of a wrong answer before the summary of its diagnosis.
inline constexpr const char* kLooksLike = "; looks like: ";

struct Evaluation {
  Verdict verdict = Verdict::harness_failed;
  std::string reason;
  std::vector<Build> builds;
  std::vector<CaseError> errors;  ///< Every case that ran, up to the first wrong one.
  std::vector<Timing> timings;
  double latency_us = 0;  ///< Objective: geometric mean of the warm medians over the timed shapes; valid only.
  double worst_relative_l2 = 0;
  std::vector<Profile> profiles = {};  ///< Counters at the timed shapes, where they were read.
  std::string sass_summary;            ///< Free-form profile for people (occupancy, modelled pipes); may be empty.
  PhaseTimes phases = {};
  RanOn ran_on = {};
  std::uint64_t salt = 0;  ///< Mixed into the seeds; replays the run's inputs.
};

/// The latency that a strategy gets: that of a valid candidate, or of a duplicate of one; empty for failures.
std::optional<double> latency_of(const Evaluation& evaluation);

}  // namespace evo
