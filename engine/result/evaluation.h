#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/record/record.h"
#include "engine/result/build.h"
#include "engine/result/mismatch.h"
#include "engine/result/profile.h"
#include "engine/result/timing.h"
#include "engine/result/verdict.h"

namespace evo {

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

EVO_RECORD(CaseError, shape, seed, regime, output, relative_l2, max_abs, cosine);

/// Where an evaluation spent its time, in seconds. Zeros: unknown, or it came no further.
struct PhaseTimes {
  double waiting_s = 0;     ///< For its programs to be compiled, with nothing else to evaluate meanwhile.
  double validation_s = 0;  ///< Every run and comparison ahead of the timing, the sanitiser's among them.
  double timing_s = 0;
};

EVO_RECORD(PhaseTimes, waiting_s, validation_s, timing_s);

/// Where a candidate ran. Empty texts: it did not, or nobody knows.
struct RanOn {
  std::string device;  ///< "cuda:1", by its number on that host.
  std::string uuid;    ///< Empty for a virtual GPU.
  std::string host;
};

EVO_RECORD(RanOn, device, uuid, host);

/// How many blocks of a launch one SM holds.
struct Residency {
  std::string kernel;
  int registers = 0;            ///< Of a thread.
  std::int64_t smem_bytes = 0;  ///< Of a block, static and dynamic.
  int blocks = 0;
};

EVO_RECORD(Residency, kernel, registers, smem_bytes, blocks);

/// What two candidates have in common that do the same work.
enum class Shared { source, cubin };

/// The candidate whose result a duplicate has.
struct Original {
  std::uint64_t ticket = 0;  ///< Of its proposal in the same run.
  Shared shared = Shared::source;
  Verdict verdict = Verdict::harness_failed;

  friend bool operator==(const Original&, const Original&) = default;
};

EVO_RECORD(Original, ticket, shared, verdict);

/// So many candidates of a board are its elites.
inline constexpr std::size_t kEliteCount = 3;

/// How a challenger does against the elite that it would displace.
enum class Standing { faster, same, slower, challenger_failed, elite_failed };

/// A challenger and the elite that it would displace, timed in turns.
struct EliteComparison {
  std::int64_t elite = 0;  ///< Its candidate's number; 0: it is not in this database.
  Standing standing = Standing::faster;
  double ratio = 0;      ///< The challenger's latency over the elite's, a mean over the rounds; 0: one of them failed.
  double ratio_low = 0;  ///< Of the 95 % interval.
  double ratio_high = 0;
  std::uint64_t rounds = 0;
  std::string failure = {};  ///< Why one of them failed.

  bool displaces() const { return standing == Standing::faster || standing == Standing::elite_failed; }
};

EVO_RECORD(EliteComparison, elite, standing, ratio, ratio_low, ratio_high, rounds, failure);

struct Evaluation {
  Verdict verdict = Verdict::harness_failed;
  std::string reason;  ///< Why it, or its original, failed, in words; empty where `mismatch` tells it.
  std::optional<Original> original = {};  ///< Of a duplicate.
  std::optional<Mismatch> mismatch = {};  ///< Of a wrong answer.
  std::vector<Build> builds;
  std::vector<CaseError> errors;  ///< Every case that ran, up to the first wrong one.
  std::vector<Timing> timings;
  double latency_us = 0;  ///< Objective: geometric mean of the warm medians over the timed shapes; valid only.
  double worst_relative_l2 = 0;
  std::vector<Profile> profiles = {};              ///< Counters at the timed shapes, where they were read.
  std::vector<Residency> residency = {};           ///< Of each launch of the first plan of each program.
  std::optional<EliteComparison> comparison = {};  ///< With the elite that it would have displaced.
  std::string notes = {};                          ///< What an older evo noted of these in words; else empty.
  PhaseTimes phases = {};
  RanOn ran_on = {};
  std::uint64_t salt = 0;  ///< Mixed into the seeds; replays the run's inputs.
};

template <>
inline constexpr auto kFields<Evaluation> = std::tuple(
    Field{"verdict", &Evaluation::verdict}, Field{"reason", &Evaluation::reason},
    Field{"original", &Evaluation::original}, Field{"mismatch", &Evaluation::mismatch},
    Field{"builds", &Evaluation::builds}, Field{"cases", &Evaluation::errors}, Field{"timings", &Evaluation::timings},
    Field{"latency_us", &Evaluation::latency_us}, Field{"worst_relative_l2", &Evaluation::worst_relative_l2},
    Field{"profiles", &Evaluation::profiles}, Field{"residency", &Evaluation::residency},
    Field{"comparison", &Evaluation::comparison}, Field{"notes", &Evaluation::notes}, Field{"", &Evaluation::phases},
    Field{"", &Evaluation::ran_on}, Field{"salt", &Evaluation::salt});
static_assert(lists_all_fields<Evaluation>());

/// The latency that a strategy gets: that of a valid candidate, or of a duplicate of one; empty for failures.
std::optional<double> latency_of(const Evaluation& evaluation);

}  // namespace evo
