#include "engine/edits/edit_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/noticeable.h"

namespace evo {
namespace {

constexpr int kMostDrafts = 400;  ///< Drafts in a row that cannot be proposed, after which there is nothing.
constexpr std::size_t kMostEdits = 24;
/// Of so many edits one is of a file that other tasks' kernels include, too.
constexpr std::uint64_t kIncluded = 4;
/// Of a hundred proposals so many cross two lists, and so many more put a list on another genome.
constexpr std::uint64_t kCrossed = 20, kTransplanted = 15;

std::set<std::string> keys_of(const EditList& list) {
  std::set<std::string> keys;
  for (const SourceEdit& edit : list.edits) keys.insert(edit.key());
  return keys;
}

std::string key_of(const EditList& list) {
  Hasher hasher;
  hasher.add(to_text(list.base));
  for (const std::string& key : keys_of(list)) hasher.add(key);
  return hasher.hex();
}

std::vector<std::string> operator_names() {
  return {kEditOperators.begin(), kEditOperators.end()};
}

}  // namespace

EditProposer::EditProposer(Options options, const ProposedTemplates& templates)
    : options_(std::move(options)), templates_(templates), rng_(options_.seed), bandit_(operator_names()) {}

void EditProposer::observe(const Proposal& proposal, const Evaluation& evaluation) {
  const SourceTree files = templates_.files_of(proposal.genome);
  EditList list = edit_list_in(files).value_or(EditList{proposal.genome, {}});
  const bool edited = !list.edits.empty();
  if (edited) learn(proposal, evaluation, list);
  const std::optional<double> latency_us = latency_of(evaluation);
  // A duplicate is no other kernel, but a shorter list of edits for the same one.
  const auto made = under_way_.extract(to_text(proposal.genome));
  const bool reduces = made && made.mapped().reduces;
  if (!latency_us || (evaluation.verdict == Verdict::duplicate && !reduces)) return;
  const bool best = by_latency_.empty() || *latency_us < by_latency_.front().first;
  const std::pair<double, std::uint64_t> place{*latency_us, proposal.ticket};
  by_latency_.insert(std::ranges::upper_bound(by_latency_, place), place);
  const Parent& parent = valid_[proposal.ticket] = {std::move(list), *latency_us};
  const auto longer = reduces ? valid_.find(proposal.parents.front()) : valid_.end();
  const bool as_fast = longer != valid_.end() && *latency_us <= longer->second.latency_us * (1 + kNoticeable);
  if (edited && (best || as_fast)) reduce(proposal.ticket, parent);
}

/// What failed, or is the same program as another, is not tried again with more edits.
void EditProposer::learn(const Proposal& proposal, const Evaluation& evaluation, const EditList& list) {
  tried_.insert(key_of(list));
  const std::optional<double> latency_us = latency_of(evaluation);
  const auto made = under_way_.find(to_text(proposal.genome));
  const bool reduces = made != under_way_.end() && made->second.reduces;
  const bool duplicate = evaluation.verdict == Verdict::duplicate;
  if (!latency_us && evaluation.verdict != Verdict::harness_failed)
    give_up(list, evaluation.verdict == Verdict::compile_failed);
  else if (duplicate && !reduces)
    give_up(list, true);
  if (made == under_way_.end() || !made->second.op || proposal.parents.empty()) return;
  const auto parent = valid_.find(proposal.parents.front());
  bandit_.tell(std::string(name_of(*made->second.op)),
               latency_us && parent != valid_.end() && *latency_us < parent->second.latency_us * (1 - kNoticeable));
}

void EditProposer::reduce(std::uint64_t ticket, const Parent& parent) {
  if (parent.list.edits.size() < 2) return;
  std::erase_if(waiting_, [](const Draft& draft) { return draft.reduces; });
  for (std::size_t i = 0; i < parent.list.edits.size(); ++i) {
    EditList shorter = parent.list;
    shorter.edits.erase(shorter.edits.begin() + static_cast<std::ptrdiff_t>(i));
    waiting_.push_back(
        {std::move(shorter), {ticket}, "without the edit " + in_words(parent.list.edits[i]), std::nullopt, true});
  }
}

std::optional<Proposed> EditProposer::next() {
  for (int tried = 0; tried < kMostDrafts; ++tried) {
    std::optional<Draft> made;
    if (waiting_.empty()) {
      made = draft();
    } else {
      made = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (!made || made->list.edits.empty() || is_hopeless(made->list) || !tried_.insert(key_of(made->list)).second)
      continue;
    if (std::optional<Proposed> proposed = proposed_by(*std::move(made))) return proposed;
  }
  return std::nullopt;
}

std::optional<Proposed> EditProposer::proposed_by(Draft draft) {
  SourceTree tree = options_.tree;
  tree.merge(templates_.files_of(draft.list.base));
  try {
    ProposedFiles made = edited_files(tree, options_.task, draft.list);
    Proposed proposed{made.genome, draft.parents, std::move(made.files), draft.note};
    under_way_[to_text(made.genome)] = std::move(draft);
    return proposed;
  } catch (const Error&) {
    give_up(draft.list, true);
    return std::nullopt;
  }
}

void EditProposer::refused(const Proposed& proposed, const std::string& /*why*/) {
  const auto made = under_way_.extract(to_text(proposed.genome));
  if (made && !made.mapped().reduces) give_up(made.mapped().list, false);
}

void EditProposer::retracted(std::uint64_t ticket) {
  const auto parent = valid_.extract(ticket);
  if (!parent) return;
  std::erase_if(by_latency_, [&](const auto& place) { return place.second == ticket; });
  if (!parent.mapped().list.edits.empty()) give_up(parent.mapped().list, false);
  std::erase_if(waiting_,
                [&](const Draft& draft) { return std::ranges::find(draft.parents, ticket) != draft.parents.end(); });
}

void EditProposer::give_up(const EditList& list, bool everywhere) {
  const std::string base = everywhere ? "" : to_text(list.base);
  std::set<std::string> keys = keys_of(list);
  if (keys.size() == 1)
    hopeless_alone_.insert(base + '\n' + *keys.begin());
  else
    hopeless_.push_back({base, std::move(keys)});
}

bool EditProposer::is_hopeless(const EditList& list) const {
  const std::set<std::string> keys = keys_of(list);
  const std::string base = to_text(list.base);
  const auto alone = [&](const std::string& key) {
    return hopeless_alone_.contains('\n' + key) || hopeless_alone_.contains(base + '\n' + key);
  };
  return std::ranges::any_of(keys, alone) || std::ranges::any_of(hopeless_, [&](const Hopeless& one) {
           return (one.base.empty() || one.base == base) && std::ranges::includes(keys, one.keys);
         });
}

// ---- Drafts

std::optional<EditProposer::Draft> EditProposer::draft() {
  if (by_latency_.empty()) return std::nullopt;
  const std::uint64_t drawn = rng_.below(100);
  if (drawn < kCrossed) return crossover();
  if (drawn < kCrossed + kTransplanted) return transplant();
  return one_edit_more();
}

/// Mostly one of the fastest.
std::uint64_t EditProposer::drawn_parent() {
  const double drawn = rng_.unit();
  const auto place = static_cast<std::size_t>(drawn * drawn * drawn * static_cast<double>(by_latency_.size()));
  return by_latency_[place].second;
}

std::vector<std::uint64_t> EditProposer::edited_parents() const {
  std::vector<std::uint64_t> edited;
  for (const auto& [latency_us, ticket] : by_latency_)
    if (!valid_.at(ticket).list.edits.empty()) edited.push_back(ticket);
  return edited;
}

std::optional<EditProposer::Draft> EditProposer::crossover() {
  const std::vector<std::uint64_t> edited = edited_parents();
  if (edited.size() < 2) return std::nullopt;
  const std::uint64_t a = edited[rng_.below(edited.size())], b = edited[rng_.below(edited.size())];
  if (a == b) return std::nullopt;
  std::optional<EditList> list = crossed(valid_.at(a).list, valid_.at(b).list, rng_);
  if (!list) return std::nullopt;
  return Draft{*std::move(list), {a, b}, fmt::format("edits of proposals {} and {}", a, b), std::nullopt};
}

std::optional<EditProposer::Draft> EditProposer::transplant() {
  const std::vector<std::uint64_t> edited = edited_parents();
  if (edited.empty()) return std::nullopt;
  const std::uint64_t from = edited[rng_.below(edited.size())], onto = drawn_parent();
  EditList list = valid_.at(from).list;
  const Genome& base = valid_.at(onto).list.base;
  if (base.family != list.base.family || base == list.base) return std::nullopt;
  list.base = base;
  return Draft{std::move(list), {onto, from}, fmt::format("edits of proposal {} on proposal {}", from, onto), {}};
}

std::optional<EditProposer::Draft> EditProposer::one_edit_more() {
  const std::uint64_t ticket = drawn_parent();
  const EditList& list = valid_.at(ticket).list;
  if (list.edits.size() >= kMostEdits) return std::nullopt;
  const Subject& subject = subject_of(list.base);
  const std::string name = bandit_.next();
  const auto op = static_cast<std::size_t>(std::ranges::find(kEditOperators, name) - kEditOperators.begin());
  bandit_.asked(name);
  std::vector<const SourceEdit*> edits;
  const bool own = rng_.below(kIncluded) > 0;
  for (const std::string& file : subject.files)
    if (own == file.starts_with(options_.task + "/"))
      for (const SourceEdit& edit : sites_in(file, text_of(list, file))[op])
        if (subject.lines.contains({file, edit.line})) edits.push_back(&edit);
  const std::size_t first = edits.empty() ? 0 : rng_.below(edits.size());
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const SourceEdit& edit = *edits[(first + i) % edits.size()];
    std::optional<EditList> longer = with_edit(list, edit);
    if (longer && !is_hopeless(*longer) && !tried_.contains(key_of(*longer)))
      return Draft{*std::move(longer), {ticket}, in_words(edit), static_cast<EditOperator>(op)};
  }
  if (own) bandit_.tell(name, false);
  return std::nullopt;
}

// ---- What can be edited

std::string EditProposer::text_of(const EditList& list, const std::string& file) const {
  if (const auto found = options_.tree.find(file); found != options_.tree.end()) return found->second;
  const SourceTree brought = templates_.files_of(list.base);  // By another proposer.
  const auto found = brought.find(file);
  return found == brought.end() ? "" : found->second;
}

const EditSites& EditProposer::sites_in(const std::string& file, const std::string& text) {
  const auto [found, added] = sites_.try_emplace(file + '\n' + hash_hex(text));
  if (added) found->second = edit_sites(file, text);
  return found->second;
}

const EditProposer::Subject& EditProposer::subject_of(const Genome& base) {
  const auto [found, added] = subjects_.try_emplace(to_text(base));
  if (!added) return found->second;
  for (const Program& program : options_.build(base).programs) {
    const auto count = static_cast<std::size_t>(std::ranges::count(program.source, '\n'));
    for (std::size_t line = 1; line <= count + 1; ++line) {
      const auto origin = program.lines.origin_of(line);
      if (!origin) continue;
      found->second.files.insert(origin->file);
      found->second.lines.emplace(origin->file, static_cast<int>(origin->line));
    }
  }
  return found->second;
}

}  // namespace evo
