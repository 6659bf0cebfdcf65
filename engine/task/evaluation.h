#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/task/candidate.h"

namespace evo {

/// How far a candidate came. Everything but `valid` is a failure; each has a reason in words.
enum class Verdict {
  valid,
  illegal,    ///< Exceeds a limit of the device before anything was built.
  duplicate,  ///< Same source or same cubin as an earlier candidate of the run; its result is copied.
  compile_failed,
  over_resources,  ///< Built, but spills, cannot be resident, or ptxas warned that it serialises.
  unsupported,     ///< The device cannot execute it (an instruction the virtual GPU does not know).
  launch_failed,   ///< The driver refused the launch.
  crashed,         ///< Illegal address, trap, sanitiser finding, or the worker died.
  timed_out,
  wrong_answer,
  unrepeatable,     ///< Two runs on the same input differ bitwise.
  impossible_time,  ///< Faster than the physical floor: a measurement error.
  harness_failed,   ///< Our own failure; never held against the genome.
};
std::string_view name_of(Verdict verdict);
Verdict parse_verdict(std::string_view name);
/// Whether a candidate got as far as a program that a device can be given.
bool was_built(Verdict verdict);

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
  std::string flags = {};  ///< What the compiler was given, separated by spaces; empty: unknown.
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

/// What a GPU was found doing while it was timed. Zeros: nobody could tell.
struct Conditions {
  int sm_mhz_low = 0;
  int sm_mhz_high = 0;
  int memory_mhz = 0;          ///< The lowest.
  int other_processes = 0;     ///< That computed on the GPU beside evo's own.
  bool power_limited = false;  ///< The GPU's power limit lowered its clocks: what the kernel draws, no disturbance. The
                               ///< driver may tell it late.
};

/// "SM 1755-1980 MHz (power limit), memory 3201 MHz"; empty where nobody could tell.
std::string to_text(const Conditions& conditions);

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

struct Evaluation {
  Verdict verdict = Verdict::harness_failed;
  std::string reason;
  std::vector<Build> builds;
  std::vector<CaseError> errors;  ///< Every case that ran, up to the first wrong one.
  std::vector<Timing> timings;
  double latency_us = 0;  ///< Objective: geometric mean of the warm medians over the timed shapes; valid only.
  double worst_relative_l2 = 0;
  std::string sass_summary;  ///< Free-form profile for people (occupancy, modelled pipes); may be empty.
  std::uint64_t salt = 0;    ///< Mixed into the seeds; replays the run's inputs.
};

/// The latency a strategy is told: that of a valid candidate, or of a duplicate of one; empty for failures.
std::optional<double> latency_of(const Evaluation& evaluation);

/// Evaluates candidates, several in flight. Implementations: the device pipeline, replay, fakes.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// How many candidates keep it busy.
  virtual std::size_t width() const = 0;
  /// Starts one. `ticket` is the caller's; unique among those in flight.
  virtual void submit(std::uint64_t ticket, const Candidate& candidate) = 0;
  struct Done {
    std::uint64_t ticket = 0;
    Evaluation evaluation;
  };
  /// Blocks until one ends. At least one must be in flight. Throws machine_error only when no further
  /// evaluation is possible.
  virtual Done wait() = 0;
  /// Forgets the candidates that have not begun to run and returns their tickets; wait() will not return them. For a
  /// search that ends early.
  virtual std::vector<std::uint64_t> withdraw() { return {}; }
};

}  // namespace evo
