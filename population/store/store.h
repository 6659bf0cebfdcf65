#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/search/late_predictions.h"
#include "engine/search/search.h"
#include "population/store/records.h"

namespace evo {

class Database;

struct StoreOptions {
  int busy_timeout_ms = 10'000;  ///< How long to wait for another process's lock.
  /// The most pages that the file may have; 0: SQLite's limit. Tests simulate a full disk with it.
  std::int64_t max_pages = 0;
};

/// The database of runs, candidates and elites (docs/store.md; SQLite).
///
/// Durability: WAL with synchronous=NORMAL, one transaction for each result. A result survives kill -9 of any process
/// once record() has returned, because the log is then in the kernel's page cache; after a power cut the last few
/// results may be missing, but never a part of one.
/// Elites: at most three for each key (task hash, device key, objective), all valid, with distinct sources and
/// binaries; the n-th best gets slower only when a check finds one wrong. Triggers and unique indices in the database
/// hold this against every writer.
///
/// Used by one thread. Several processes may use one file at once: readers never wait, writers wait for each other.
/// Every method throws machine_error in one line, naming the file and what to do, when the database is
/// locked, full, read-only or damaged; nothing is left half-written.
class Store {
 public:
  enum class Mode {
    read,    ///< The file must exist. Nothing is changed and no file is left behind.
    write,   ///< Created when missing, brought to this schema when older.
    change,  ///< The same, but the file must exist and hold something.
    inspect  ///< As read, whatever tables it has: for check alone.
  };
  /// Throws usage_error when the file is missing (read, change), no database, another program's, or has a newer schema;
  /// machine_error when it cannot be opened. ":memory:" is a private database for tests.
  static Store open(const std::filesystem::path& path, Mode mode, const StoreOptions& options = {});
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  RunId begin_run(const RunInfo& info);
  /// For --resume: the run as it was started, with its files, marked as running again. `evaluation_limit`
  /// replaces the stored one; with `settled_until` it does not end itself any more. Throws usage_error when there is no
  /// such run.
  RunInfo reopen_run(RunId run, std::optional<std::uint64_t> evaluation_limit = {},
                     std::optional<std::uint64_t> settled_until = {});
  void finish_run(RunId run, RunStatus status);

  /// The archive of one run. Must not outlive the store, and neither must what `compare` and `checks` refer to.
  /// recall throws usage_error when the stored proposal of that ticket has another genome: the space has
  /// changed.
  std::unique_ptr<Archive> archive(RunId run, EliteComparer compare = {}, EliteChecks checks = {});
  /// What checks of a candidate outside of its run brought. With a finding it gets that verdict and is no elite any
  /// more. Throws usage_error when there is no such candidate.
  void record_checks(CandidateId candidate, const CheckedElite& checked);

  /// The predictions that a run did not wait for. Made before the run goes on. Must not outlive the store.
  std::unique_ptr<LatePredictions> late_predictions(RunId run);

  /// Another number whenever another connection, of this process or another, has changed the database.
  std::int64_t version() const;
  std::vector<RunRow> runs() const;  ///< Newest first.
  std::optional<RunRow> run(RunId run) const;
  std::vector<OutcomeRow> outcomes(RunId run) const;
  /// Where its candidates ran, by host and device.
  std::vector<PlaceCount> places(RunId run) const;

  /// By task, device, objective, rank. Rows of a task's former hashes have `current` false.
  std::vector<EliteRow> elites(const EliteFilter& filter = {}) const;
  /// Likewise the fronts of latency over error: the fastest candidate, and each time the fastest of those that err by
  /// 5 % less than the one before. Of boards that have a run which keeps one.
  std::vector<EliteRow> front(const EliteFilter& filter = {}) const;

  std::optional<CandidateRow> candidate(CandidateId candidate) const;
  /// Whether a check of elites has found it wrong that was valid.
  bool was_retracted(CandidateId candidate) const;
  /// Replaces what is known of a candidate's counters at that shape, measured or modelled. Throws usage_error when
  /// there is no such candidate.
  void record_profile(CandidateId candidate, const Profile& profile);
  /// Adds a person's note to a candidate. Throws usage_error when there is no such candidate.
  void add_note(CandidateId candidate, const std::string& text);
  std::vector<NoteRow> notes_of_candidate(CandidateId candidate) const;  ///< The oldest first.
  std::vector<NoteRow> notes_of_run(RunId run) const;                    ///< Likewise, of all its candidates.

  /// Adds an exchange with a language model to a run. A candidate refers to it by Proposal::exchange.
  ExchangeId record_exchange(RunId run, const ExchangeRecord& exchange);
  std::optional<ExchangeRecord> exchange_of(CandidateId candidate) const;
  std::vector<ExchangeRow> exchanges(RunId run) const;  ///< The oldest first.
  ExchangeSums exchange_sums(RunId run) const;

  /// The candidate of a proposal of a run.
  std::optional<CandidateId> candidate_of(RunId run, std::uint64_t ticket) const;
  /// The candidate, its parents, their parents, ... each once, by distance. Throws usage_error when there is
  /// none.
  std::vector<LineageRow> lineage(CandidateId candidate) const;

  /// The files that a task hash stands for. Empty when unknown.
  SourceTree task_files(std::string_view task_hash) const;

  void record_selftest(SelftestRecord record);
  /// The newest of a task hash on any device of this kind ("cuda", "vgpu").
  std::optional<SelftestRecord> last_selftest(std::string_view task_hash, std::string_view device_kind) const;

  /// Does nothing where the task hash has the same regime already.
  void record_attack(AttackRecord record);
  std::vector<AttackRecord> attacks(std::string_view task_hash) const;  ///< The oldest first.

  /// Throws usage_error when there is no such candidate.
  void record_sitting(Sitting sitting);
  /// Of one candidate, or all; newest first.
  std::vector<Sitting> sittings(std::optional<CandidateId> candidate = {}) const;

  /// Copies the runs of `other` that this database lacks, with everything that belongs to them. Its elites then compete
  /// with those here, by the latencies found there. Known runs get their new results, unless the two copies contradict
  /// each other: such a run stays as it is. All or nothing. Throws usage_error for a damaged database.
  MergeCounts merge(const std::filesystem::path& other);
  /// Gives back the room of what was deleted, and of texts that nothing refers to.
  void compact();

  /// Problems found by SQLite's integrity and foreign key checks, tables, views and triggers that evo has not, rows
  /// that cannot be read, texts that differ from their hashes, and what is wrong with the elites and with what their
  /// verification needs; empty when sound.
  std::vector<std::string> check() const;
  /// Puts in a database's place a new one with all of it that can be read, and keeps the former beside it as
  /// FILE.before-repair. A candidate of which a part cannot be read is dropped. Returns what was dropped, in lines.
  /// Throws usage_error for what is no database of evo, or one of another schema.
  static std::vector<std::string> repair(const std::filesystem::path& path);

  const std::filesystem::path& path() const;

 private:
  explicit Store(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

/// Whether there is a database at that path. Throws usage_error where there can be none: a folder, a pipe or a device
/// is there, or the path leads nowhere.
bool has_database(const std::filesystem::path& path);

}  // namespace evo
