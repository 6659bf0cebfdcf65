#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "engine/record/record.h"

namespace evo {

/// The limit that an output breaks.
enum class LimitKind {
  not_finite,   ///< Elements are NaN or infinite where the reference's are, and nowhere else.
  exact,        ///< Every element is the reference's.
  zero,         ///< The reference is all zeros, so the output must be.
  relative_l2,  ///< ||got - want|| / ||want||, at most.
  cosine,       ///< Between the two, at least.
  max_abs,      ///< The largest |got - want| over the RMS of the reference, at most.
  row_l2,       ///< The relative L2 error of each row, at most.
  element,      ///< Each |got - want| over atol + rtol |want|, at most.
  change,       ///< ||got - want|| over what the call is to change of a tensor that it reads and writes, at most.
  off_by_one,   ///< The share of elements that are off by one step of the dtype, at most; none is by more.
};

/// How an output breaks a limit.
struct Miss {
  LimitKind kind = LimitKind::relative_l2;
  double error = 0;            ///< As `kind` measures it.
  double allowed = 0;          ///< The limit.
  std::uint64_t elements = 0;  ///< How many break it, where each is judged by itself.
  std::uint64_t first = 0;     ///< The index of the first of them; of row_l2 the worst row.
  std::string got = {};        ///< The value there, where one is shown.
  std::string reference = {};  ///< The reference's.
  double atol = 0;             ///< Of `element`.
  double rtol = 0;
};

EVO_RECORD(Miss, kind, error, allowed, elements, first, got, reference, atol, rtol);

/// When a wrong answer was found.
enum class MismatchFound {
  on_grid,        ///< On a case of the plan.
  on_more_seeds,  ///< On a further seed, where the grid came close to the limit.
  on_average,     ///< Over several draws together, of which each could have been chance.
  while_timed,    ///< In an answer of a timed launch.
  after_timing,   ///< With new inputs after timing: an earlier answer may have been reused.
};

/// A wrong answer: the case that showed it, and by how much it is wrong.
struct Mismatch {
  std::string shape = {};
  std::string regime = {};
  std::uint64_t seed = 0;
  std::string output = {};
  Miss miss = {};
  MismatchFound found = MismatchFound::on_grid;
  std::optional<double> emulation_l2 = {};   ///< What the emulation errs by on these inputs, where limits follow it.
  std::optional<double> emulation_row = {};  ///< The same of its worst row.
  // On average:
  std::uint64_t draws = 0;
  double mean_l2 = 0;
  double mean_l2_limit = 0;
  double mean_row = 0;  ///< Of the worst rows.
  double mean_row_limit = 0;
  std::string looks_like = {};  ///< The short form of its diagnosis; may be empty.
};

template <>
inline constexpr auto kFields<Mismatch> =
    std::tuple(Field{"shape", &Mismatch::shape}, Field{"regime", &Mismatch::regime}, Field{"seed", &Mismatch::seed},
               Field{"output", &Mismatch::output}, Field{"", &Mismatch::miss}, Field{"found", &Mismatch::found},
               Field{"emulation_l2", &Mismatch::emulation_l2}, Field{"emulation_row", &Mismatch::emulation_row},
               Field{"draws", &Mismatch::draws}, Field{"mean_l2", &Mismatch::mean_l2},
               Field{"mean_l2_limit", &Mismatch::mean_l2_limit}, Field{"mean_row", &Mismatch::mean_row},
               Field{"mean_row_limit", &Mismatch::mean_row_limit}, Field{"looks_like", &Mismatch::looks_like});
static_assert(lists_all_fields<Mismatch>());

}  // namespace evo
