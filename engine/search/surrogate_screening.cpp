// Long because: what is proposed, predicted, screened and measured has one state, of which every step changes a part.
#include "engine/search/surrogate_screening.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <numbers>
#include <thread>
#include <unordered_map>
#include <utility>

#include "engine/base/median.h"
#include "engine/base/noticeable.h"
#include "engine/base/rng.h"
#include "engine/search/chance_valid.h"
#include "engine/search/prediction_error.h"
#include "engine/search/presearch.h"

namespace evo {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// A genome that is expected to be slower than the best by less than this part may be faster: the errors of the cost
/// model differ by as much between neighbours.
constexpr double kMargin = 0.03;
/// A genome with a smaller chance to be valid is told to the strategy as a failure.
constexpr double kLikely = 0.5;
/// Standard deviation of log(measured/expected) that is assumed where chances are weighed against latencies.
constexpr double kDoubt = 0.1;
/// How often a choice looks for predictions that it waits for.
constexpr std::chrono::milliseconds kPoll{1};
/// Best genomes of a pre-search among which those that the strategy has not proposed are chosen.
constexpr std::size_t kPresearchedAmong = 32;

/// By how much log(latency) is expected to fall below that of `best_us`, in units of kDoubt; 0 where it never does. The
/// less is expected, the more it gains, whatever the best is.
double expected_gain(double best_us, double expected_us) {
  if (std::isinf(expected_us)) return 0;
  const double z = std::log(best_us / expected_us) / kDoubt;
  const double gain = z * std::erfc(-z / std::numbers::sqrt2) / 2 +
                      std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return std::max(gain, std::numeric_limits<double>::min());
}

/// Predicts expected latencies: a predictor corrected by its errors so far. Genomes that are likely to fail are slower.
class Corrected : public LatencyPredictor {
 public:
  Corrected(LatencyPredictor& predictor, PredictionError& error, ChanceValid& chance)
      : predictor_(predictor), error_(error), chance_(chance) {}
  PendingPrediction begin(const Genome& genome) override {
    const PendingPrediction pending = predictor_.begin(genome);
    const auto correct = [this, genome, pending] {
      std::optional<PredictedLatency> predicted = pending.get();
      if (!predicted) return predicted;
      predicted->latency = error_.expected_us(genome, *predicted);
      if (predicted->latency) *predicted->latency /= std::sqrt(chance_.of(genome));
      return predicted;
    };
    return {[pending] { return pending.ready(); }, correct};
  }
  std::size_t traits() const override { return predictor_.traits(); }

 private:
  LatencyPredictor& predictor_;
  PredictionError& error_;
  ChanceValid& chance_;
};

/// Two counts of tickets: ours of the proposals that are measured, and the strategy's of all that it made.
class ScreenedStrategy : public Strategy {
 public:
  ScreenedStrategy(std::unique_ptr<Strategy> strategy, const Space& space, LatencyPredictor& predictor,
                   ScreeningOptions options)
      : strategy_(std::move(strategy)),
        space_(space),
        predictor_(predictor),
        error_(space, predictor.traits()),
        chance_(space),
        corrected_(predictor, error_, chance_),
        options_(std::move(options)) {
    options_.among = std::max<std::size_t>(1, options_.among);
  }

  std::optional<Proposal> ask() override {
    if (stuck()) begin_presearch();
    if (presearch_) continue_presearch();
    while (chosen_.empty() && choose()) {
    }
    if (chosen_.empty()) return std::nullopt;
    Entry entry = std::move(chosen_.front());
    chosen_.pop_front();
    return asked(std::move(entry));
  }

  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) override {
    std::optional<Entry> entry = take_unasked(genome);
    if (!entry) {
      std::optional<Proposal> fresh = strategy_->offer(genome, op, {});
      if (!fresh) return std::nullopt;
      entry = Entry{std::move(*fresh)};
    }
    Proposal proposal = asked(std::move(*entry));
    proposal.op = std::move(op);
    proposal.parents = std::move(parents);
    return proposal;
  }

  void tell(const Answer& answer) override {
    const auto found = in_flight_.extract(answer.ticket);
    if (found.empty()) throw unknown_ticket(answer.ticket);
    const auto& [ticket, settled, genome, predicted] = found.mapped();
    ++answers_since_better_;
    if (answer.latency_us) note_measured(*answer.latency_us);
    chance_.observe(genome, answer);
    if (answer.latency_us && predicted.latency && std::isfinite(*predicted.latency))
      error_.observe(genome, predicted, *answer.latency_us);
    Answer foreseen = answer;
    foreseen.traits = predicted.traits;  // those that screened proposals are known by, too
    if (!settled) strategy_->tell(foreseen.to(ticket));
    if (!predicted.program.empty()) answer_duplicates(programs_.at(predicted.program), foreseen);
    settle_screened();
    if (answer.latency_us) measured_[answer.ticket] = {std::move(found.mapped()), *answer.latency_us};
  }

  void retract(const Answer& failure) override {
    const auto found = measured_.extract(failure.ticket);
    if (!found) return;
    const InFlight& one = found.mapped().asked;
    chance_.retract(one.genome, failure);
    best_us_ = kNever;
    for (const auto& [ticket, measured] : measured_) best_us_ = std::min(best_us_, measured.latency_us);
    noticed_us_ = best_us_;
    answers_since_better_ = 0;
    strategy_->retract(failure.to(one.ticket));
    const auto program = programs_.find(one.predicted.program);
    if (program == programs_.end() || !program->second.answer) return;
    program->second.answer->latency_us.reset();
    for (const std::uint64_t duplicate : program->second.answered) strategy_->retract(failure.to(duplicate));
  }

 private:
  struct Entry {
    Proposal proposal;
    PredictedLatency predicted = {};
    std::optional<double> expected_us = {};
    double chance = 1;       // to be valid
    std::size_t passed = 0;  // asks in which it was not chosen
    bool settled = false;    // the strategy has its answer
  };
  /// A proposal whose prediction is under way.
  struct Predicting {
    Proposal proposal;
    PendingPrediction prediction;
  };
  struct InFlight {
    std::uint64_t ticket = 0;  // the strategy's
    bool settled = false;
    Genome genome;
    PredictedLatency predicted;
  };
  struct Measured {
    InFlight asked;
    double latency_us = 0;
  };
  /// A program that was measured or is about to be.
  struct Program {
    std::optional<Answer> answer;           // by our ticket
    std::vector<std::uint64_t> duplicates;  // the strategy's tickets that wait for the answer
    std::vector<std::uint64_t> answered;    // those that have it
  };

  /// Takes out a proposal of the strategy that was not measured: chosen, still competing, or screened out. A duplicate
  /// of a measured program stays where it is.
  std::optional<Entry> take_unasked(const Genome& genome) {
    const auto is_it = [&](const Entry& entry) { return entry.proposal.genome == genome; };
    const auto is_it_alone = [&](const Entry& entry) {
      return is_it(entry) && !programs_.contains(entry.predicted.program);
    };
    if (auto next = std::ranges::find_if(chosen_, is_it); next != chosen_.end()) return taken_from(chosen_, next);
    std::vector<std::vector<Predicting>*> batches{&late_};
    for (std::vector<Predicting>& batch : predicting_) batches.push_back(&batch);
    for (std::vector<Predicting>* batch : batches) {
      const auto one = std::ranges::find(*batch, genome, [](const Predicting& each) { return each.proposal.genome; });
      if (one == batch->end()) continue;
      const std::optional<PredictedLatency> predicted = one->prediction.get();
      if (predicted && programs_.contains(predicted->program)) return std::nullopt;
      Entry entry{std::move(one->proposal), predicted.value_or(PredictedLatency())};
      batch->erase(one);
      return entry;
    }
    for (std::vector<Entry>* entries : {&standing_, &competing_, &screened_}) {
      if (auto one = std::ranges::find_if(*entries, is_it_alone); one != entries->end())
        return taken_from(*entries, one);
    }
    const auto out = screened_out_.find(to_text(genome));
    if (out == screened_out_.end() || programs_.contains(out->second.predicted.program)) return std::nullopt;
    return std::move(screened_out_.extract(out).mapped());
  }

  template <typename Entries>
  static Entry taken_from(Entries& entries, typename Entries::iterator one) {
    Entry entry = std::move(*one);
    entries.erase(one);
    return entry;
  }

  void note_measured(double latency_us) {
    if (latency_us < (1 - kNoticeable) * noticed_us_) {
      noticed_us_ = latency_us;
      answers_since_better_ = 0;
    }
    best_us_ = std::min(best_us_, latency_us);
  }

  bool stuck() const {
    const ScreeningOptions::Presearching& presearching = options_.presearching;
    return !presearch_ && !presearching.by.empty() && answers_since_better_ >= presearching.after;
  }

  void begin_presearch() {
    const ScreeningOptions::Presearching& presearching = options_.presearching;
    presearch_.emplace(space_, presearching.by, Rng(presearching.seed + next_ticket_ + 1).next(), corrected_,
                       presearching.genomes, presearching.together);
  }

  /// Begins its predictions little by little, so that those of proposals do not wait behind a whole batch.
  void continue_presearch() {
    const std::size_t every = chance_.all_failed() ? 1 : options_.presearching.every;
    if (++asks_of_batch_ >= every) advance_presearch();
    if (!presearch_) return;
    const std::size_t beginning = every > options_.ahead ? every - options_.ahead : 1;
    presearch_->begin(static_cast<double>(asks_of_batch_ + 1) / static_cast<double>(beginning));
  }

  /// At its end chooses the best genomes that the strategy has not proposed.
  void advance_presearch() {
    asks_of_batch_ = 0;
    if (presearch_->advance()) return;
    answers_since_better_ = 0;
    std::vector<Entry> found;
    for (const Seed& seed : best_apart(space_, presearch_->predicted(), kPresearchedAmong)) {
      if (found.size() == options_.presearching.kept) break;
      std::optional<Proposal> proposal = strategy_->offer(seed.genome, "rehearsed", {});
      if (!proposal) continue;
      const std::optional<PredictedLatency> predicted = predictor_.begin(seed.genome).get();
      if (predicted) found.push_back({std::move(*proposal), *predicted});
    }
    presearch_.reset();
    std::vector<Entry> duplicates;
    for (Entry& entry : found) {
      expect(entry);
      choose_new(std::move(entry), duplicates);
    }
    settle_duplicates(std::move(duplicates));
  }

  /// Chooses what is measured next. False when there is nothing to choose from, or the predictor was interrupted.
  bool choose() {
    begin_predictions();
    if (!predicting_.empty() || !late_.empty()) {
      std::optional<std::vector<Entry>> fresh = take_predicted();
      if (!fresh) return false;
      if (chance_.all_failed())
        choose_unscreened(std::move(*fresh));
      else
        choose_among(std::move(*fresh));
      return true;
    }
    // The strategy has no further genome. Only what may beat the best is still worth a measurement.
    std::ranges::move(std::exchange(competing_, {}), std::back_inserter(screened_));
    settle_screened();
    if (standing_.empty()) return false;
    choose_among({});
    return true;
  }

  /// Keeps the batches of the next asks under way. While everything fails, one batch is measured for several asks.
  /// Where as many are late as may be, predictions do not keep up with measurements, and a batch has one less.
  void begin_predictions() {
    const std::size_t ahead = chance_.all_failed() ? std::min<std::size_t>(options_.ahead, 1) : options_.ahead;
    const std::size_t among =
        late_.size() < options_.among ? options_.among : std::max<std::size_t>(1, options_.among - 1);
    while (predicting_.size() <= ahead) {
      std::vector<Predicting> batch;
      while (batch.size() < among) {
        std::optional<Proposal> proposal = strategy_->ask();
        if (!proposal) break;
        PendingPrediction prediction = predictor_.begin(proposal->genome);
        batch.push_back({std::move(*proposal), std::move(prediction)});
      }
      if (batch.empty()) break;
      predicting_.push_back(std::move(batch));
    }
  }

  /// Takes the proposals that a choice may use: those of the next batch and those that were late, but for what is late
  /// now. Empty when the predictor was interrupted.
  std::optional<std::vector<Entry>> take_predicted() {
    const std::size_t may_be_late = most_late();
    std::vector<Predicting> due = std::exchange(late_, {});
    if (!predicting_.empty()) {
      std::ranges::move(predicting_.front(), std::back_inserter(due));
      predicting_.pop_front();
    }
    const LatePredictions::Choice choice{choices_++, next_ticket_};
    const std::optional<LatePredictions::Tickets> recalled =
        options_.late == nullptr ? LatePredictions::Tickets() : options_.late->recall(choice);
    if (!recalled) wait_for_all_but(may_be_late, due);
    LatePredictions::Tickets late;
    std::vector<Entry> used;
    for (Predicting& one : due) {
      const std::uint64_t ticket = one.proposal.ticket;
      if (recalled ? std::ranges::binary_search(*recalled, ticket) : !one.prediction.ready()) {
        late.push_back(ticket);
        late_.push_back(std::move(one));
        continue;
      }
      const std::optional<PredictedLatency>& prediction = one.prediction.get();
      if (!prediction) return std::nullopt;
      used.push_back({std::move(one.proposal), *prediction});
    }
    if (!recalled && !late.empty()) {
      std::ranges::sort(late);
      options_.late->record(choice, late);
    }
    return used;
  }

  /// How many predictions a choice may go without: no more than are in a batch, and so many that others compete.
  std::size_t most_late() const {
    if (chance_.all_failed() || predicting_.empty()) return 0;
    const std::size_t all = late_.size() + predicting_.front().size() + competing_.size() + standing_.size();
    return std::min(options_.among, all - std::min(all, options_.among));
  }

  static void wait_for_all_but(std::size_t most, const std::vector<Predicting>& due) {
    const auto is_late = [](const Predicting& one) { return !one.prediction.ready(); };
    while (static_cast<std::size_t>(std::ranges::count_if(due, is_late)) > most) std::this_thread::sleep_for(kPoll);
  }

  /// While everything fails latencies decide nothing: a genome that is right may be slow. All proposals are measured
  /// but those that are predicted to fail.
  void choose_unscreened(std::vector<Entry> fresh) {
    std::vector<Entry> duplicates;
    for (Entry& entry : fresh) {
      expect(entry);
      if (entry.expected_us && std::isinf(*entry.expected_us))
        screen_out(std::move(entry));
      else
        choose_new(std::move(entry), duplicates);
    }
    settle_duplicates(std::move(duplicates));
  }

  /// Chooses one of `fresh` and of those that still compete.
  void choose_among(std::vector<Entry> fresh) {
    std::vector<Entry> all = std::exchange(standing_, {});
    std::ranges::move(std::exchange(competing_, {}), std::back_inserter(all));
    std::ranges::move(fresh, std::back_inserter(all));
    for (Entry& entry : all) expect(entry);
    const double middle = median_of(all);
    const double best_us = std::isinf(best_us_) ? least_of(all) : best_us_;
    std::ranges::stable_sort(all, std::greater(), [&](const Entry& entry) {
      return entry.chance * expected_gain(best_us, entry.expected_us.value_or(middle));
    });
    std::vector<Entry> duplicates;
    for (Entry& entry : all) {
      if (chosen_.empty() || programs_.contains(entry.predicted.program))
        choose_new(std::move(entry), duplicates);
      else
        (++entry.passed < options_.chances ? competing_ : screened_).push_back(std::move(entry));
    }
    settle_duplicates(std::move(duplicates));
    settle_screened();
  }

  void choose_new(Entry entry, std::vector<Entry>& duplicates) {
    if (programs_.contains(entry.predicted.program)) return duplicates.push_back(std::move(entry));
    note_program(entry);
    chosen_.push_back(std::move(entry));
  }

  void note_program(const Entry& entry) {
    if (!entry.predicted.program.empty()) programs_[entry.predicted.program];
  }

  void expect(Entry& entry) {
    entry.expected_us = error_.expected_us(entry.proposal.genome, entry.predicted);
    entry.chance = chance_.of(entry.proposal.genome);
  }

  /// One is measured where there is nothing else. A run in which all genomes make the same few programs thus ends.
  void settle_duplicates(std::vector<Entry> duplicates) {
    for (Entry& duplicate : duplicates) {
      if (chosen_.empty()) {
        chosen_.push_back(std::move(duplicate));
        continue;
      }
      Program& program = programs_.at(duplicate.predicted.program);
      program.duplicates.push_back(duplicate.proposal.ticket);
      if (program.answer) answer_duplicates(program, *program.answer);
    }
  }

  void answer_duplicates(Program& program, const Answer& answer) {
    program.answer = answer;
    for (const std::uint64_t duplicate : std::exchange(program.duplicates, {})) {
      ancestors_[duplicate] = {answer.ticket};
      strategy_->tell(answer.to(duplicate));
      program.answered.push_back(duplicate);
    }
  }

  static double median_of(const std::vector<Entry>& batch) {
    std::vector<double> expected;
    for (const Entry& entry : batch) {
      if (entry.expected_us) expected.push_back(*entry.expected_us);
    }
    return expected.empty() ? kNever : upper_median(std::move(expected));
  }

  static double least_of(const std::vector<Entry>& batch) {
    double least = kNever;
    for (const Entry& entry : batch) least = std::min(least, entry.expected_us.value_or(kNever));
    return least;
  }

  /// Without a measurement there is no scale: predicted latencies may be in any unit.
  void settle_screened() {
    if (!error_.knows_any()) return;
    for (Entry& entry : screened_) {
      expect(entry);
      if (entry.expected_us && (1 - kMargin) * *entry.expected_us < best_us_ && entry.chance >= kLikely)
        standing_.push_back(std::move(entry));
      else
        screen_out(std::move(entry));
    }
    screened_.clear();
  }

  void screen_out(Entry entry) {
    if (entry.expected_us) {
      ancestors_[entry.proposal.ticket] = measured_ancestors(entry.proposal);
      const bool fails = std::isinf(*entry.expected_us) || entry.chance < kLikely;
      strategy_->tell({entry.proposal.ticket, fails ? std::nullopt : entry.expected_us, 0, entry.predicted.traits});
      entry.settled = true;
    }
    std::string genome = to_text(entry.proposal.genome);
    screened_out_.emplace(std::move(genome), std::move(entry));
  }

  Proposal asked(Entry entry) {
    Proposal proposal = std::move(entry.proposal);
    const std::uint64_t ticket = next_ticket_++;
    note_program(entry);
    in_flight_[ticket] = {proposal.ticket, entry.settled, proposal.genome, std::move(entry.predicted)};
    proposal.parents = measured_ancestors(proposal);
    ancestors_[proposal.ticket] = {ticket};
    proposal.ticket = ticket;
    return proposal;
  }

  /// Its parents by our tickets. A parent that was not measured is replaced by its own ancestors.
  std::vector<std::uint64_t> measured_ancestors(const Proposal& proposal) const {
    std::vector<std::uint64_t> all;
    for (const std::uint64_t parent : proposal.parents) {
      const auto known = ancestors_.find(parent);
      if (known == ancestors_.end()) continue;
      for (const std::uint64_t ancestor : known->second) {
        if (std::find(all.begin(), all.end(), ancestor) == all.end()) all.push_back(ancestor);
      }
    }
    return all;
  }

  std::unique_ptr<Strategy> strategy_;
  const Space& space_;
  LatencyPredictor& predictor_;
  PredictionError error_;
  ChanceValid chance_;
  Corrected corrected_;
  ScreeningOptions options_;
  std::optional<PresearchClimb> presearch_;                // while the search is stuck
  std::size_t asks_of_batch_ = 0;                          // since its batch was begun
  std::deque<std::vector<Predicting>> predicting_;         // by ask, the earliest first
  std::vector<Predicting> late_;                           // due, but not waited for
  std::deque<Entry> chosen_;                               // to be measured next
  std::vector<Entry> competing_;                           // of the latest asks
  std::vector<Entry> standing_;                            // may beat the best: they go on competing
  std::vector<Entry> screened_;                            // not answered yet
  std::unordered_map<std::string, Entry> screened_out_;    // by genome; answered where there is a prediction
  std::unordered_map<std::uint64_t, InFlight> in_flight_;  // by our ticket
  std::unordered_map<std::uint64_t, Measured> measured_;   // likewise; those that have a latency
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> ancestors_;  // our tickets, by the strategy's
  std::unordered_map<std::string, Program> programs_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t choices_ = 0;
  double best_us_ = kNever;
  double noticed_us_ = kNever;  // the best when there was progress
  std::size_t answers_since_better_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_screened(std::unique_ptr<Strategy> strategy, const Space& space,
                                        LatencyPredictor& predictor, ScreeningOptions options) {
  return std::make_unique<ScreenedStrategy>(std::move(strategy), space, predictor, std::move(options));
}

}  // namespace evo
