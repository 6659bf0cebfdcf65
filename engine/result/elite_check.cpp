#include "engine/result/elite_check.h"

#include <algorithm>

namespace evo {
namespace {

std::string undone(const EliteCheck& check) {
  const std::string what = check.name == "sanitiser" ? "not watched by the sanitiser"
                           : check.name == "sizes"   ? "no other sizes tried"
                                                     : "not attacked";
  return what + ": " + check.note;
}

}  // namespace

bool is_provisional(std::span<const EliteCheck> checks) {
  return !std::ranges::all_of(kEliteChecks, [&](std::string_view name) {
    return std::ranges::find(checks, name, &EliteCheck::name) != checks.end();
  });
}

std::optional<EliteFinding> why_edits_are_unproven(std::span<const EliteCheck> checks) {
  const std::string why = reservation_about(checks);
  if (why.empty()) return std::nullopt;
  return EliteFinding{Verdict::unsupported,
                      "a kernel made by edits is no elite unless it passes every check of one: " + why};
}

std::string reservation_about(std::span<const EliteCheck> checks) {
  if (is_provisional(checks)) return "provisional: not every check of an elite is made";
  std::string text;
  for (const EliteCheck& check : checks)
    if (check.outcome == EliteCheck::Outcome::impossible) text += (text.empty() ? "" : "; ") + undone(check);
  return text;
}

}  // namespace evo
