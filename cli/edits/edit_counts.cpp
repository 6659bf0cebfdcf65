#include "cli/edits/edit_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/check/further_trials.h"
#include "cli/subject/lookup.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/table.h"
#include "engine/base/noticeable.h"
#include "engine/edits/source_edit.h"
#include "engine/search/proposer.h"

namespace evo::cli {
namespace {

constexpr const char* kCrossover = "crossover";
constexpr const char* kReduction = "reduction";
/// Single timings that differ by more need no comparison; a comparison takes a second or so.
constexpr double kPlainlySlower = 1.05;
constexpr int kMostCompared = 8;

struct Edited {
  OutcomeRow outcome;
  EditList list;
  std::map<std::string, EditOperator> edits;  ///< By key.
};

/// What made a list of edits of its first parent's.
std::string made_by(const Edited& child, const Edited* parent) {
  static const Edited kNone;
  const Edited& before = parent == nullptr ? kNone : *parent;
  const auto kept =
      std::ranges::count_if(before.edits, [&](const auto& one) { return child.edits.contains(one.first); });
  const std::size_t came = child.edits.size() - static_cast<std::size_t>(kept);
  const bool all_kept = static_cast<std::size_t>(kept) == before.edits.size();
  if (came == 0 && !all_kept) return kReduction;
  if (came != 1 || !all_kept) return kCrossover;
  const auto newest =
      std::ranges::find_if(child.edits, [&](const auto& one) { return !before.edits.contains(one.first); });
  return std::string(name_of(newest->second));
}

/// The fewest edits come first.
std::optional<BestEdited> best_of(const std::map<CandidateId, Edited>& edited, const AsFast& as_fast) {
  const Edited* best = nullptr;
  for (const auto& [id, one] : edited)
    if (one.outcome.verdict == Verdict::valid && (!best || one.outcome.latency_us < best->outcome.latency_us))
      best = &one;
  if (best == nullptr) return std::nullopt;
  std::vector<const Edited*> shorter;
  for (const auto& [id, one] : edited) {
    const bool of_best = one.outcome.latency_us && one.list.base == best->list.base &&
                         std::ranges::all_of(one.edits, [&](const auto& e) { return best->edits.contains(e.first); });
    if (of_best && one.edits.size() < best->edits.size()) shorter.push_back(&one);
  }
  std::ranges::stable_sort(shorter, {}, [](const Edited* one) { return one->edits.size(); });
  const auto found =
      std::ranges::find_if(shorter, [&](const Edited* one) { return as_fast(one->outcome, best->outcome); });
  const Edited* reduced = found == shorter.end() ? best : *found;
  return BestEdited{best->outcome, best->edits.size(), reduced->outcome, reduced->edits.size()};
}

}  // namespace

AsFast as_fast_by(const EliteComparer& compare) {
  return [&compare, compared = 0](const OutcomeRow& shorter, const OutcomeRow& best) mutable {
    if (shorter.verdict == Verdict::duplicate) return *shorter.latency_us <= *best.latency_us;
    if (!compare.start) return *shorter.latency_us <= *best.latency_us * (1 + kNoticeable);
    if (*shorter.latency_us > *best.latency_us * kPlainlySlower || compared++ == kMostCompared) return false;
    const std::optional<EliteComparison> result = compare.start(shorter.candidate, best.candidate).get();
    return result && (result->standing == Standing::same || result->standing == Standing::faster);
  };
}

EditCounts edit_counts(const Store& store, const std::vector<OutcomeRow>& outcomes, const AsFast& as_fast) {
  std::map<CandidateId, Edited> edited;
  std::map<CandidateId, double> latencies;
  std::map<std::string, EditCount> counts;
  for (const OutcomeRow& outcome : outcomes) {
    if (outcome.latency_us) latencies[outcome.candidate] = *outcome.latency_us;
    if (outcome.op != kEditOperator) continue;
    std::optional<EditList> list = edit_list_in(find_candidate(store, outcome.candidate).files);
    if (!list) continue;
    Edited& one = edited[outcome.candidate] = {outcome, *std::move(list), {}};
    for (const SourceEdit& edit : one.list.edits) one.edits[edit.key()] = edit.op;
    const CandidateId parent = outcome.first_parent.value_or(0);
    const auto before = edited.find(parent);
    EditCount& count = counts[made_by(one, before == edited.end() ? nullptr : &before->second)];
    ++count.proposed;
    if (was_built(outcome.verdict)) ++count.built;
    if (is_wrong(outcome.verdict) && store.was_retracted(outcome.candidate)) ++count.caught;
    if (!outcome.latency_us) continue;
    ++count.right;
    const auto latency = latencies.find(parent);
    if (latency == latencies.end()) continue;
    const double gain = latency->second / *outcome.latency_us;
    if (gain > 1 + kNoticeable) ++count.faster;
    count.best_gain = std::max(count.best_gain, gain);
  }
  EditCounts all;
  for (auto& [name, count] : counts) {
    count.made_by = name;
    all.counts.push_back(count);
  }
  std::ranges::stable_sort(all.counts, std::greater(), &EditCount::best_gain);
  all.best = best_of(edited, as_fast);
  return all;
}

std::string edit_counts_text(const EditCounts& edits, const Terminal& terminal) {
  if (edits.counts.empty()) return "";
  Table table({"edits by", ">proposed", ">built", ">right", ">caught", ">faster", "best gain over the parent"});
  for (const EditCount& one : edits.counts)
    table.add({one.made_by, std::to_string(one.proposed), std::to_string(one.built), std::to_string(one.right),
               std::to_string(one.caught), std::to_string(one.faster), fmt::format("{:.3f}x", one.best_gain)});
  std::string text = table.text(terminal);
  if (!edits.best) return text;
  text += fmt::format("best edited kernel: candidate {}, {} us, {} edit{}", edits.best->best.candidate,
                      microseconds(*edits.best->best.latency_us), edits.best->edits, edits.best->edits == 1 ? "" : "s");
  if (edits.best->reduced_edits < edits.best->edits)
    text += fmt::format("; {} of them matter{}: candidate {}, {} us", edits.best->reduced_edits,
                        edits.best->reduced_edits == 1 ? "s" : "", edits.best->reduced.candidate,
                        microseconds(*edits.best->reduced.latency_us));
  return text + '\n';
}

Json edit_counts_json(const EditCounts& edits) {
  Json operators = Json::array();
  for (const EditCount& one : edits.counts)
    operators.push_back({{"by", one.made_by},
                         {"proposed", one.proposed},
                         {"built", one.built},
                         {"right", one.right},
                         {"caught", one.caught},
                         {"faster", one.faster},
                         {"best_gain", one.best_gain}});
  Json json = {{"operators", std::move(operators)}, {"best", nullptr}, {"reduced", nullptr}};
  if (!edits.best) return json;
  json["best"] = {{"candidate", edits.best->best.candidate}, {"edits", edits.best->edits}};
  json["reduced"] = {{"candidate", edits.best->reduced.candidate}, {"edits", edits.best->reduced_edits}};
  return json;
}

}  // namespace evo::cli
