#include "engine/task/error_limits.h"

#include <array>
#include <string>
#include <utility>

#include "engine/expression/json_place.h"
#include "engine/expression/name_scope.h"

namespace evo {
namespace {

constexpr const char* kExactHint = R"(; an output that must agree bit for bit has "limits": {"exact": true})";

/// The limits that are the largest error that passes.
constexpr auto kGreatest =
    std::to_array<std::pair<const char*, double Limits::*>>({{"relative_l2", &Limits::relative_l2},
                                                             {"max_abs", &Limits::max_abs},
                                                             {"row_l2", &Limits::row_l2},
                                                             {"atol", &Limits::atol},
                                                             {"rtol", &Limits::rtol},
                                                             {"change", &Limits::change},
                                                             {"off_by_one", &Limits::off_by_one}});

EmulationLimit emulation_limit(const JsonPlace& place) {
  place.allow_only({"times", "plus"});
  EmulationLimit limit{.times = place.at("times").number(), .plus = 0};
  if (limit.times < 1) place.at("times").fail("must be at least 1: the emulation itself must pass");
  if (const auto plus = place.find("plus")) limit.plus = plus->number();
  if (limit.plus < 0) place.at("plus").fail("must not be negative");
  return limit;
}

/// The limits with those that are given in their place. `hint`: what to do about a limit of 0.
Limits given_limits(Limits limits, const JsonPlace& place, const std::string& hint) {
  for (const auto& [key, limit] : kGreatest) {
    const auto given = place.find(key);
    if (!given) continue;
    limits.*limit = given->number();
    if (limits.*limit <= 0) given->fail("must be positive" + hint);
  }
  if (const auto cosine = place.find("cosine")) limits.cosine = cosine->number();
  if (limits.cosine < 0 || limits.cosine > 1) place.at("cosine").fail("must be 0 to 1");
  if (const auto exact = place.find("exact")) limits.exact = exact->boolean();
  if (const auto emulation = place.find("emulation")) {
    emulation->allow_only({"relative_l2", "row_l2"});
    if (const auto l2 = emulation->find("relative_l2")) limits.emulated_l2 = emulation_limit(*l2);
    if (const auto row = emulation->find("row_l2")) limits.emulated_row = emulation_limit(*row);
  }
  if (limits.off_by_one >= 1) place.at("off_by_one").fail("is a share of the elements: less than 1");
  const bool any = limits.exact || limits.relative_l2 > 0 || limits.max_abs > 0 || limits.atol > 0 || limits.rtol > 0 ||
                   limits.off_by_one > 0;
  if (!any) place.fail("no limit on the error: give relative_l2, max_abs, atol or rtol, or exact");
  return limits;
}

void allow_limits(const JsonPlace& place) {
  place.allow_only({"relative_l2", "cosine", "max_abs", "row_l2", "atol", "rtol", "change", "exact", "emulation"});
}

}  // namespace

Limits read_limits(const JsonPlace& place) {
  allow_limits(place);
  const Limits limits = given_limits({}, place, kExactHint);
  if (limits.exact) place.at("exact").fail("is for single outputs; integers are exact without it");
  return limits;
}

Limits read_tighter_limits(const JsonPlace& place, const Limits& task) {
  allow_limits(place);
  const Limits limits = given_limits(task, place, "");
  // What no objective allows is a wrong answer. The largest error alone may have no limit (0).
  const char* reason = "must not be looser than the task's limit";
  if (limits.cosine < task.cosine) place.at("cosine").fail(reason);
  for (const auto& [key, limit] : kGreatest)
    if (task.*limit > 0 && limits.*limit > task.*limit) place.at(key).fail(reason);
  return limits;
}

std::vector<OutputLimits> read_output_limits(const JsonPlace& place, const NameScope& options) {
  std::vector<OutputLimits> list;
  for (const JsonPlace& one : place.one_or_more()) {
    one.allow_only(
        {"when", "relative_l2", "cosine", "max_abs", "row_l2", "atol", "rtol", "change", "off_by_one", "exact"});
    list.push_back({options.read(one, "when", true), given_limits({}, one, kExactHint)});
  }
  return list;
}

}  // namespace evo
