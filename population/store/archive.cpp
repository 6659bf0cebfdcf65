#include "population/store/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <iterator>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "population/store/board.h"
#include "population/store/elite_checks.h"
#include "population/store/evaluation_rows.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"

namespace evo {
namespace {

/// The board on which a run's candidates compete.
std::int64_t board_of(Database& database, RunId run) {
  Statement row = database.prepare("SELECT board FROM run WHERE id = ?");
  row.bind(run);
  if (!row.next()) throw usage_error(fmt::format("database {} has no run {}", database.path().string(), run));
  return row.integer(0);
}

}  // namespace

std::optional<CandidateId> find_candidate(Database& database, RunId run, std::uint64_t ticket) {
  Statement row = database.prepare("SELECT id FROM candidate WHERE run = ? AND ticket = ?");
  row.bind(run, ticket);
  if (!row.next()) return std::nullopt;
  return row.integer(0);
}

namespace {

/// Results that wait behind a comparison at most. When the process is killed meanwhile, a resumed run evaluates them
/// again.
constexpr std::size_t kMostWaiting = 32;
/// Elites that are found wrong before the search goes on, where it waits for checks; and once it has ended.
constexpr std::size_t kMostFoundAtOnce = 4, kMostFoundAtEnd = 24;

class RunArchive final : public Archive {
 public:
  RunArchive(Database& database, RunId run, EliteComparer compare, EliteChecks checks)
      : database_(database),
        run_(run),
        board_(board_of(database, run)),
        compare_(std::move(compare)),
        checks_(std::move(checks)),
        recorded_(answers_of(database, run)),
        recalled_(retractions_of(database, run)) {}

  std::optional<Recalled> recall(const Proposal& proposal) override {
    const ReadTransaction transaction(database_);
    Statement row = database_.prepare("SELECT id, genome FROM candidate WHERE run = ? AND ticket = ?");
    row.bind(run_, proposal.ticket);
    if (!row.next()) return std::nullopt;
    if (row.text(1) != to_json(proposal.genome)) {
      throw usage_error(
          fmt::format("run {} of {} cannot be resumed: its proposal {} was another genome, so the templates, the "
                      "device or evo itself have changed; start a new run",
                      run_, database_.path().string(), proposal.ticket));
    }
    Evaluation evaluation = read_evaluation(database_, row.integer(0));
    if (const auto told_us = told_latency(database_, row.integer(0))) {
      evaluation.verdict = Verdict::valid;
      evaluation.latency_us = *told_us;
      evaluation.reason.clear();
      evaluation.mismatch.reset();
    }
    return Recalled{std::move(evaluation), row.natural(0)};
  }

  void record(const Proposal& proposal, const Candidate& candidate, const Evaluation& evaluation) override {
    waiting_.push_back({proposal, candidate, evaluation, {}, {}});
    commit_all_but(kMostWaiting);
  }

  void settle() override { commit_all_but(0); }

  /// A run that is resumed repeats what it was told, and goes on with checks behind its last recorded answer.
  std::vector<std::uint64_t> retracted(std::uint64_t answered, Wait wait) override {
    std::vector<std::uint64_t> tickets;
    if (const auto again = recalled_.extract(answered)) tickets = again.mapped();
    if (answered < recorded_) return tickets;
    if (wait == Wait::until_checked)
      check_what_is_left();
    else if (checks_.every == 0)
      check_beside();
    else if (answered % checks_.every == 0)
      check_until_found(kMostFoundAtOnce);
    std::ranges::copy(take_untold(database_, run_, answered), std::back_inserter(tickets));
    return tickets;
  }

 private:
  /// A result that is not committed yet: it, or one before it, is being compared with an elite.
  struct Waiting {
    Proposal proposal;
    Candidate candidate;
    Evaluation evaluation;
    CandidateId incumbent = 0;                ///< The elite that it is compared with.
    std::future<EliteComparison> comparison;  ///< Under way, if valid.
  };

  static std::uint64_t answers_of(Database& database, RunId run) {
    Statement row = database.prepare("SELECT count(*) FROM candidate WHERE run = ?");
    row.bind(run).next();
    return row.natural(0);
  }

  /// Takes the result of the checks under way, if it is there, and begins those of the best elite that needs them.
  void check_beside() {
    if (checking_.valid() && checking_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
    if (checking_.valid()) take_checked();
    begin_checks();
  }

  /// Waits for checks until so many have found something or none is left. Returns how many have.
  std::size_t check_until_found(std::size_t most) {
    std::size_t found = 0;
    while (found < most && (checking_.valid() || begin_checks())) {
      while (checking_.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout)
        if (checks_.stop != nullptr && checks_.stop->load()) return found;
      if (take_checked()) ++found;
    }
    return found;
  }

  /// Where one elite after the other is wrong, so may be all candidates.
  void check_what_is_left() {
    if (!checks_.start || found_at_end_ >= kMostFoundAtEnd) return;
    found_at_end_ += check_until_found(kMostFoundAtOnce);
    if (found_at_end_ >= kMostFoundAtEnd)
      notice(fmt::format("{} elites were wrong, one after the other: the next ones stay provisional", found_at_end_));
  }

  /// Of the best elite that needs them. False: none does.
  bool begin_checks() {
    if (!checks_.start) return false;
    const std::vector<CandidateId> provisional = provisional_elites(database_, board_);
    if (provisional.empty()) return false;
    checked_ = provisional.front();
    checking_ = checks_.start(checked_);
    return true;
  }

  /// Whether they found something. Where the machine fails, elites stay provisional.
  bool take_checked() {
    try {
      const CheckedElite checked = checking_.get();
      if (!settle_checks(database_, checked_, checked)) return false;
      if (checks_.found) checks_.found(checked_, *checked.finding);
      return true;
    } catch (const Error& error) {
      checks_.start = {};
      notice(fmt::format("elites stay provisional: {}", error.what()));
      return false;
    }
  }

  void notice(const std::string& line) const {
    if (checks_.notice) checks_.notice(line);
  }

  /// Commits results in order until one is still being compared and no more than `most` wait. When one fails, those
  /// behind it are not committed either: a resumed run evaluates them again.
  void commit_all_but(std::size_t most) {
    try {
      while (!waiting_.empty()) {
        Waiting& first = waiting_.front();
        begin_comparison(first);
        const bool compared = !first.comparison.valid() ||
                              first.comparison.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
        if (!compared && waiting_.size() <= most) return;
        if (commit(first)) waiting_.pop_front();
      }
    } catch (...) {
      waiting_.clear();
      throw;
    }
  }

  /// With the elite that it would displace, if there is one and it is not being compared already.
  void begin_comparison(Waiting& one) {
    if (one.comparison.valid()) return;
    const std::optional<CandidateId> incumbent = displaced_incumbent(one);
    if (!incumbent) return;
    one.incumbent = *incumbent;
    one.comparison = compare_(one.candidate, *incumbent);
  }

  /// False: another run has changed the elites meanwhile, and the challenger is to be compared anew.
  bool commit(Waiting& one) {
    const bool competes = may_compete(one.candidate, one.evaluation);
    if (!one.comparison.valid())
      return insert(one, one.evaluation, competes ? std::optional(contender(one)) : std::nullopt, std::nullopt);
    Evaluation compared = one.evaluation;
    compared.comparison = one.comparison.get();
    if (!compared.comparison->displaces()) return insert(one, compared, std::nullopt, std::nullopt);
    return insert(one, compared, contender(one), one.incumbent);
  }

  static Contender contender(const Waiting& one) {
    return {INT64_MAX, one.evaluation.latency_us, one.candidate.source_hash(),
            binary_hash_of(one.candidate, one.evaluation)};
  }

  /// Without its sources (imported results) a candidate can be neither verified nor taken away.
  static bool may_compete(const Candidate& candidate, const Evaluation& evaluation) {
    return evaluation.verdict == Verdict::valid && !candidate.programs.empty();
  }

  /// The elite that a valid challenger would displace by its latency, if the two are to be compared first.
  std::optional<CandidateId> displaced_incumbent(const Waiting& one) {
    if (!compare_ || !may_compete(one.candidate, one.evaluation)) return std::nullopt;
    return decide(elites_of(database_, board_), contender(one)).displaces;
  }

  /// Commits one result. With `compared`, the elite that the challenger was compared with, only if the challenger still
  /// displaces that one; else nothing is written and the result is false.
  bool insert(const Waiting& one, const Evaluation& evaluation, std::optional<Contender> challenger,
              std::optional<CandidateId> compared) {
    const Proposal& proposal = one.proposal;
    const Candidate& candidate = one.candidate;
    WriteTransaction transaction(database_);
    if (compared && decide(elites_of(database_, board_), *challenger).displaces != compared) return false;
    const CandidateId id = insert_candidate(proposal, candidate);
    insert_parents(id, proposal);
    insert_programs(id, candidate);
    insert_files(id, candidate);
    if (proposal.exchange > 0)
      database_.prepare("INSERT INTO exchange_candidate VALUES (?, ?)").bind(id, proposal.exchange).run();
    insert_evaluation(database_, id, evaluation);
    if (challenger) {
      challenger->candidate = id;
      compete(database_, board_, *challenger);
    }
    transaction.commit();
    return true;
  }

  CandidateId insert_candidate(const Proposal& proposal, const Candidate& candidate) {
    Statement insert = database_.prepare(
        "INSERT INTO candidate (run, ticket, op, family, genome, source_hash, note, recorded_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    insert.bind(run_, proposal.ticket, proposal.op, proposal.genome.family, to_json(proposal.genome),
                candidate.source_hash(), proposal.note, now_of(database_));
    if (insert.run() == 1) return database_.last_id();
    if (find_candidate(database_, run_, proposal.ticket)) {
      throw usage_error(fmt::format("run {} of {} already has a result for proposal {}: another process is running it",
                                    run_, database_.path().string(), proposal.ticket));
    }
    throw machine_error(fmt::format("run {} of {} was given the genome of proposal {} before: please report this", run_,
                                    database_.path().string(), proposal.ticket));
  }

  void insert_parents(CandidateId id, const Proposal& proposal) {
    Statement insert = database_.prepare("INSERT INTO parent VALUES (?, ?, ?)");
    std::int64_t position = 0;
    for (const std::uint64_t ticket : proposal.parents) {
      const std::optional<CandidateId> parent = find_candidate(database_, run_, ticket);
      if (!parent || *parent == id) {
        throw machine_error(
            fmt::format("run {} of {}: proposal {} names parent {}, which has no result: please report this", run_,
                        database_.path().string(), proposal.ticket, ticket));
      }
      insert.bind(id, position++, *parent).run();
    }
  }

  void insert_programs(CandidateId id, const Candidate& candidate) {
    Statement insert = database_.prepare("INSERT INTO program VALUES (?, ?, ?, ?, ?, ?)");
    std::int64_t position = 0;
    for (const Program& program : candidate.programs) {
      insert.bind(id, position++);
      bind_value(insert, program.specialisation);
      insert.bind(store_text(database_, program.source), program.source_hash, program.max_registers).run();
    }
  }

  void insert_files(CandidateId id, const Candidate& candidate) {
    Statement insert = database_.prepare("INSERT INTO candidate_file VALUES (?, ?, ?)");
    for (const auto& [path, text] : candidate.files) insert.bind(id, path, store_text(database_, text)).run();
  }

  Database& database_;
  RunId run_;
  std::int64_t board_;
  EliteComparer compare_;
  EliteChecks checks_;
  const std::uint64_t recorded_;                                  ///< Answers of the run when the archive was made.
  std::map<std::uint64_t, std::vector<std::uint64_t>> recalled_;  ///< Retractions until then.
  std::deque<Waiting> waiting_;
  CandidateId checked_ = 0;             ///< Whose checks are under way.
  std::future<CheckedElite> checking_;  ///< Valid, if some are.
  std::size_t found_at_end_ = 0;
};

}  // namespace

std::unique_ptr<Archive> make_archive(Database& database, RunId run, EliteComparer compare, EliteChecks checks) {
  return std::make_unique<RunArchive>(database, run, std::move(compare), std::move(checks));
}

}  // namespace evo
