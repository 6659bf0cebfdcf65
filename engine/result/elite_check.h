#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/record.h"
#include "engine/result/mismatch.h"
#include "engine/result/verdict.h"

namespace evo {

/// What elites go through beyond the gates of every candidate, because it takes longer: each check by its name. A check
/// is added here and where a run makes them (cli/run/elite_checks.h).
inline constexpr std::array<std::string_view, 3> kEliteChecks = {"sanitiser", "sizes", "attack"};

/// A check that found nothing.
struct EliteCheck {
  enum class Outcome {
    passed,
    impossible,  ///< It could not be made.
  };
  std::string name;  ///< One of kEliteChecks.
  Outcome outcome = Outcome::passed;
  std::string note;  ///< What was tried, or why it could not be.

  friend bool operator==(const EliteCheck&, const EliteCheck&) = default;
};

EVO_RECORD(EliteCheck, name, outcome, note);

/// Why a candidate that was valid is not.
struct EliteFinding {
  Verdict verdict = Verdict::crashed;
  std::string reason;
  std::optional<Mismatch> mismatch = {};  ///< Of a wrong answer.
};

/// An elite after its checks.
struct CheckedElite {
  std::vector<EliteCheck> checks;       ///< Those that found nothing.
  std::optional<EliteFinding> finding;  ///< The first one; the checks behind it were not made.
};

/// Whether a check is still to be made.
bool is_provisional(std::span<const EliteCheck> checks);

/// Why a kernel that was made by edits of another's source is no elite, if its checks are these: edits look for what
/// validation does not see, so each check must have been passed. Empty: all were.
std::optional<EliteFinding> why_edits_are_unproven(std::span<const EliteCheck> checks);

/// "provisional: its checks are not finished", "not watched: the reason", ...; empty when all checks were passed.
std::string reservation_about(std::span<const EliteCheck> checks);

}  // namespace evo
