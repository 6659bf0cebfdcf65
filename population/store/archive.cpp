#include "population/store/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <iterator>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "population/store/board.h"
#include "population/store/checks_under_way.h"
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

class RunArchive final : public Archive {
 public:
  RunArchive(Database& database, RunId run, EliteComparer compare, EliteChecks checks)
      : database_(database),
        run_(run),
        board_(board_of(database, run)),
        compare_(std::move(compare)),
        checks_(database, run, std::move(checks)),
        recorded_(answers_of(database, run)),
        recalled_(retractions_of(database, run)) {
    if (compare_.start) challengers_ = uncompared(database, run, board_);
  }

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
    insert(proposal, candidate, evaluation);
    if (comparison_.valid() && comparison_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
    if (comparison_.valid()) take_comparison();
    begin_comparison(EliteComparer::When::beside_search);
  }

  void settle() override {
    while (comparison_.valid() || begin_comparison(EliteComparer::When::after_search)) take_comparison();
  }

  /// A run that is resumed repeats what it was told, and goes on with checks behind its last recorded answer.
  std::vector<std::uint64_t> retracted(std::uint64_t answered, Wait wait) override {
    std::vector<std::uint64_t> tickets;
    if (const auto again = recalled_.extract(answered)) tickets = again.mapped();
    if (answered < recorded_) return tickets;
    if (wait == Wait::until_checked)
      checks_.after_search();
    else
      checks_.after_answer(answered);
    std::ranges::copy(take_untold(database_, run_, answered), std::back_inserter(tickets));
    return tickets;
  }

 private:
  /// Candidates of the run that are faster than an elite, were none and were compared with none.
  static std::vector<Contender> uncompared(Database& database, RunId run, std::int64_t board) {
    Statement row = database.prepare(
        "SELECT candidate.id FROM candidate JOIN evaluation ON evaluation.candidate = candidate.id "
        "WHERE run = ?1 AND verdict = 'valid' AND latency_us < (SELECT max(latency_us) FROM elite WHERE board = ?2) "
        "AND candidate.id NOT IN (SELECT candidate FROM elite_comparison) "
        "AND candidate.id NOT IN (SELECT entered FROM elite_history WHERE board = ?2 AND entered IS NOT NULL) "
        "AND EXISTS (SELECT 1 FROM program WHERE program.candidate = candidate.id)");
    row.bind(run, board);
    std::vector<CandidateId> candidates;
    while (row.next()) candidates.push_back(row.integer(0));
    std::vector<Contender> contenders;
    for (const CandidateId candidate : candidates) contenders.push_back(contender_of(database, candidate));
    return contenders;
  }

  static std::uint64_t answers_of(Database& database, RunId run) {
    Statement row = database.prepare("SELECT count(*) FROM candidate WHERE run = ?");
    row.bind(run).next();
    return row.natural(0);
  }

  /// Of the fastest challenger with the elite that it would displace. False: none is left, or it is not the time.
  bool begin_comparison(EliteComparer::When when) {
    if (challengers_.empty() || !compare_.may_start(when)) return false;
    const std::vector<Contender> elites = elites_of(database_, board_);
    // Elites get faster, and a duplicate of one is the same kernel.
    std::erase_if(challengers_, [&](const Contender& one) {
      const auto is_same = [&](const Contender& elite) { return are_duplicates(elite, one); };
      return !decide(elites, one).displaces || std::ranges::any_of(elites, is_same);
    });
    if (challengers_.empty()) return false;
    compared_ = *std::ranges::min_element(challengers_, {}, &Contender::latency_us);
    incumbent_ = *decide(elites, compared_).displaces;
    comparison_ = compare_.start(compared_.candidate, incumbent_);
    return true;
  }

  /// Waits for the result. Without effect where another process has changed the elites or the challenger meanwhile.
  void take_comparison() {
    const std::optional<EliteComparison> result = comparison_.get();
    if (!result) return;
    WriteTransaction transaction(database_);
    if (decide(elites_of(database_, board_), compared_).displaces != incumbent_) return;
    std::erase_if(challengers_, [this](const Contender& one) { return one.candidate == compared_.candidate; });
    if (!is_valid(database_, compared_.candidate)) return;
    insert_comparison(database_, compared_.candidate, *result);
    checks_.look_again();
    if (result->displaces()) compete(database_, board_, compared_);
    transaction.commit();
  }

  /// Commits one result. A valid one competes, unless it must be compared with an elite first.
  void insert(const Proposal& proposal, const Candidate& candidate, const Evaluation& evaluation) {
    WriteTransaction transaction(database_);
    const CandidateId id = insert_candidate(proposal, candidate, binary_hash_of(candidate, evaluation));
    insert_parents(id, proposal);
    insert_programs(id, candidate);
    insert_files(id, candidate);
    if (proposal.exchange > 0)
      database_.prepare("INSERT INTO exchange_candidate VALUES (?, ?)").bind(id, proposal.exchange).run();
    insert_evaluation(database_, id, evaluation);
    if (evaluation.verdict == Verdict::valid) checks_.look_again();
    std::optional<Contender> uncertain;
    // Without its sources (imported results) a candidate can be neither verified nor taken away.
    if (evaluation.verdict == Verdict::valid && !candidate.programs.empty()) {
      const Contender challenger = contender_of(database_, id);
      if (is_plain(challenger, evaluation))
        compete(database_, board_, challenger);
      else
        uncertain = challenger;
    }
    transaction.commit();
    if (uncertain) challengers_.push_back(*std::move(uncertain));
  }

  /// Whether its latency decides whether it becomes an elite.
  bool is_plain(const Contender& challenger, const Evaluation& evaluation) {
    if (!compare_.start) return true;
    const std::vector<Contender> elites = elites_of(database_, board_);
    const std::optional<CandidateId> displaced = decide(elites, challenger).displaces;
    if (!displaced) return true;
    Statement elite = database_.prepare("SELECT run FROM candidate WHERE id = ?");
    elite.bind(*displaced).next();
    return compare_.plainly_faster(evaluation, read_evaluation(database_, *displaced), elite.integer(0) == run_);
  }

  CandidateId insert_candidate(const Proposal& proposal, const Candidate& candidate, const std::string& binary_hash) {
    Statement insert = database_.prepare(
        "INSERT INTO candidate (run, ticket, op, family, genome, source_hash, note, recorded_at, binary_hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, nullif(?, '')) ON CONFLICT DO NOTHING");
    insert.bind(run_, proposal.ticket, proposal.op, proposal.genome.family, to_json(proposal.genome),
                candidate.source_hash(), proposal.note, now_of(database_), binary_hash);
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
  ChecksUnderWay checks_;
  const std::uint64_t recorded_;                                  ///< Answers of the run when the archive was made.
  std::map<std::uint64_t, std::vector<std::uint64_t>> recalled_;  ///< Retractions until then.
  std::vector<Contender> challengers_;  ///< Faster than an elite by too little to know without a comparison.
  Contender compared_;                  ///< The one that is compared, and with which elite.
  CandidateId incumbent_ = 0;
  std::future<std::optional<EliteComparison>> comparison_;  ///< Valid, if one is under way.
};

}  // namespace

std::unique_ptr<Archive> make_archive(Database& database, RunId run, EliteComparer compare, EliteChecks checks) {
  return std::make_unique<RunArchive>(database, run, std::move(compare), std::move(checks));
}

}  // namespace evo
