#include "engine/search/search.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "engine/search/settling.h"

namespace evo {
namespace {

/// Runs one search. Proposals enter a window as wide as the evaluator, and each that leaves lets one more enter. In ask
/// order what is asked depends on answers alone, never on which candidate finished first.
class Search {
 public:
  Search(Strategy& strategy, Evaluator& evaluator, Archive& archive,
         const std::function<Candidate(const Genome&)>& build, const SearchLimits& limits,
         const std::function<void(const SearchProgress&)>& progress)
      : strategy_(strategy),
        evaluator_(evaluator),
        archive_(archive),
        build_(build),
        limits_(limits),
        progress_(progress) {}

  SearchResult run() {
    while (true) {
      while (may_start()) start();
      if (ends_early()) withdraw_waiting();
      if (!window_.empty())
        finish(next_to_finish());
      else if (is_over())
        return result_;
    }
  }

 private:
  struct Entry {
    Proposal proposal;
    std::optional<Candidate> candidate;  // none when recalled
    std::optional<Evaluation> evaluation;
    std::uint64_t recorded = 0;  // of one that was recalled: Recalled::number
  };
  using Window = std::deque<Entry>;
  /// An answer that had a latency.
  struct Timed {
    double latency_us = 0;
    std::size_t cases = 0;
    std::uint64_t original = 0;  // its own ticket, or that of the candidate whose duplicate it is
  };

  bool may_start() {
    if (window_.size() >= std::max<std::size_t>(1, evaluator_.width()) || asked_ >= limits_.evaluations) return false;
    if (result_.exhausted || result_.interrupted || stalled_) return false;
    return !must_end();
  }

  bool must_end() {
    result_.interrupted = limits_.stop && limits_.stop->load();
    if (result_.interrupted) return true;
    result_.reached = limits_.until_us && best_us_ && *best_us_ <= *limits_.until_us;
    if (result_.reached) return true;
    result_.settled = settled();
    if (result_.settled) return true;
    const bool may_be_over = has_answer_ && limits_.out_of_time;
    return out_of_time_ = out_of_time_ || (may_be_over && limits_.out_of_time());
  }

  /// The answers alone decide: those under way are waited for, and may bring so much that the search goes on.
  std::optional<double> settled() const {
    const bool settles = limits_.settles || result_.answered < limits_.settled_until;
    const std::optional<double> chance = settles ? settling_.chance() : std::nullopt;
    return chance && *chance < Settling::kUnlikely ? chance : std::nullopt;
  }

  bool ends_early() const { return result_.interrupted || result_.reached || out_of_time_; }

  /// Drops the candidates that have not begun to run. The strategy gets no answer for them, so a resumed run evaluates
  /// them.
  void withdraw_waiting() {
    for (const std::uint64_t ticket : evaluator_.withdraw()) {
      std::erase_if(window_, [&](const Entry& entry) { return entry.proposal.ticket == ticket; });
    }
  }

  void start() {
    std::optional<Proposal> proposal = strategy_.ask();
    if (!proposal) {
      stalled_ = strategy_.waits() && !window_.empty();
      result_.exhausted = !stalled_ && !must_end();
      return;
    }
    ++asked_;
    Entry entry{std::move(*proposal), std::nullopt, std::nullopt};
    if (std::optional<Recalled> recalled = archive_.recall(entry.proposal)) {
      entry.evaluation = std::move(recalled->evaluation);
      entry.recorded = recalled->number;
      has_answer_ = true;
    } else {
      entry.candidate = build_(entry.proposal.genome);
      evaluator_.submit(entry.proposal.ticket, *entry.candidate);
    }
    window_.push_back(std::move(entry));
  }

  /// Everything is answered. It is not over where the last checks retract what ended it.
  bool is_over() {
    archive_.settle();
    return result_.interrupted || !retract(Archive::Wait::until_checked);
  }

  /// Whether there was something to retract.
  bool retract(Archive::Wait wait) {
    const std::vector<std::uint64_t> wrong = archive_.retracted(result_.answered, wait);
    for (const std::uint64_t ticket : wrong) {
      wrong_.insert(ticket);
      if (timed_.contains(ticket)) --result_.valid;
      for (auto one = timed_.begin(); one != timed_.end();) {
        const bool void_now = one->second.original == ticket;
        if (void_now) {
          strategy_.retract({one->first, std::nullopt, one->second.cases});
          settling_.retract(one->first);
        }
        one = void_now ? timed_.erase(one) : std::next(one);
      }
    }
    if (wrong.empty()) return false;
    best_us_.reset();
    for (const auto& [ticket, timed] : timed_)
      if (!best_us_ || timed.latency_us < *best_us_) best_us_ = timed.latency_us;
    result_.reached = result_.reached && best_us_ && *best_us_ <= *limits_.until_us;
    return true;
  }

  /// A duplicate of a candidate that was retracted has none.
  std::optional<double> latency_to_tell(const Evaluation& evaluation) const {
    if (evaluation.original && wrong_.contains(evaluation.original->ticket)) return std::nullopt;
    return latency_of(evaluation);
  }

  /// The entry whose result is given next; waits until it has one.
  Window::iterator next_to_finish() {
    auto next = window_.begin();
    if (limits_.order == AnswerOrder::asked) {
      while (!next->evaluation) accept(evaluator_.wait());
      return next;
    }
    if (const auto recalled = first_recorded(); recalled != window_.end()) return recalled;
    while (true) {
      const auto finished = std::ranges::find_if(window_, [](const Entry& entry) { return bool(entry.evaluation); });
      if (finished != window_.end()) return finished;
      accept(evaluator_.wait());
    }
  }

  /// Of the recalled entries the one that was recorded first; end() without one. A window that has any has the next of
  /// the recorded order, because it was the same when that one was recorded.
  Window::iterator first_recorded() {
    auto first = window_.end();
    for (auto entry = window_.begin(); entry != window_.end(); ++entry) {
      if (!entry->candidate && (first == window_.end() || entry->recorded < first->recorded)) first = entry;
    }
    return first;
  }

  void finish(const Window::iterator& entry) {
    const Evaluation& evaluation = *entry->evaluation;
    const std::optional<double> latency_us = latency_to_tell(evaluation);
    if (entry->candidate) archive_.record(entry->proposal, *entry->candidate, evaluation);
    strategy_.tell(
        {entry->proposal.ticket, latency_us, latency_us ? 0 : evaluation.errors.size(),
         evaluation.profiles.empty() ? std::vector<float>() : traits_of(evaluation.profiles.front().launches),
         evaluation.worst_relative_l2});
    settling_.observe(entry->proposal.ticket, latency_us);
    ++result_.answered;
    has_answer_ = true;
    if (evaluation.verdict == Verdict::valid) ++result_.valid;
    if (latency_us) {
      const std::uint64_t ticket = entry->proposal.ticket;
      timed_[ticket] = {*latency_us, evaluation.errors.size(),
                        evaluation.original ? evaluation.original->ticket : ticket};
      if (!best_us_ || *latency_us < *best_us_) best_us_ = latency_us;
    }
    if (progress_) progress_({result_.answered, result_.valid, best_us_, &entry->proposal, &evaluation});
    window_.erase(entry);
    stalled_ = false;
    retract(Archive::Wait::no);
  }

  void accept(Evaluator::Done done) {
    for (Entry& entry : window_) {
      if (entry.proposal.ticket != done.ticket || entry.evaluation) continue;
      entry.evaluation = std::move(done.evaluation);
      return;
    }
    throw std::logic_error("an evaluation of a ticket that is not in flight");
  }

  Strategy& strategy_;
  Evaluator& evaluator_;
  Archive& archive_;
  const std::function<Candidate(const Genome&)>& build_;
  const SearchLimits& limits_;
  const std::function<void(const SearchProgress&)>& progress_;
  Window window_;                         // in ask order
  std::map<std::uint64_t, Timed> timed_;  // by ticket
  std::set<std::uint64_t> wrong_;         // tickets that were retracted
  Settling settling_;
  std::uint64_t asked_ = 0;
  bool has_answer_ = false;  // given or recalled
  bool out_of_time_ = false;
  bool stalled_ = false;  // there is no proposal before the next answer
  std::optional<double> best_us_;
  SearchResult result_;
};

}  // namespace

SearchResult search(Strategy& strategy, Evaluator& evaluator, Archive& archive,
                    const std::function<Candidate(const Genome&)>& build, const SearchLimits& limits,
                    const std::function<void(const SearchProgress&)>& progress) {
  return Search(strategy, evaluator, archive, build, limits, progress).run();
}

}  // namespace evo
