#include "population/store/store.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "engine/base/error.h"
#include "population/store/archive.h"
#include "population/store/database.h"
#include "population/store/elite_checks.h"
#include "population/store/late_predictions.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/schema.h"

namespace evo {
namespace {

namespace fs = std::filesystem;

bool in_memory(const fs::path& path) {
  return path == ":memory:";
}

/// Makes the database's folder, such as the default runs/, but not the folders above it: a mistyped path should not
/// make a tree.
void make_folder(const fs::path& path) {
  const fs::path folder = path.parent_path();
  std::error_code error;
  if (folder.empty() || fs::exists(folder, error)) return;
  fs::create_directory(folder, error);
  if (error) {
    throw machine_error(fmt::format("the folder {} of the database cannot be made ({}): make it or choose another --db",
                                    folder.string(), error.message()));
  }
}

/// Changing the journal needs the file alone for a moment and SQLite does not wait for that by itself.
void use_write_ahead_log(Database& database, int busy_timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(busy_timeout_ms);
  while (!database.try_execute("PRAGMA journal_mode = WAL")) {
    if (Clock::now() >= deadline) return database.execute("PRAGMA journal_mode = WAL");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Statement mode = database.prepare("PRAGMA journal_mode");
  const bool logged = mode.next() && mode.text(0) == "wal";
  // Some network file systems have no shared memory; SQLite then keeps its rollback journal, which needs
  // every sync.
  database.execute(logged ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
}

std::int64_t board_id(Database& database, std::int64_t task, const RunInfo& info) {
  const std::string key = device_key(info.device);
  database.prepare("INSERT INTO board (task, device_key, objective) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
      .bind(task, key, info.objective)
      .run();
  Statement row = database.prepare("SELECT id FROM board WHERE task = ? AND device_key = ? AND objective = ?");
  row.bind(task, key, info.objective).next();
  return row.integer(0);
}

Error no_such_run(const Database& database, RunId run) {
  return usage_error(fmt::format("database {} has no run {}: `evo runs` lists them", database.path().string(), run));
}

}  // namespace

bool has_database(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  switch (status.type()) {
    case fs::file_type::regular:
      return true;
    case fs::file_type::not_found:
      return false;
    case fs::file_type::directory:
      throw usage_error(fmt::format("{} is a folder: name a database file with --db", path.string()));
    case fs::file_type::none:
      throw usage_error(fmt::format("database {}: {}: name another file with --db", path.string(), error.message()));
    default:
      throw usage_error(fmt::format("{} is no file: name a database file with --db", path.string()));
  }
}

Store Store::open(const fs::path& path, Mode mode, const StoreOptions& options) {
  const bool reads = mode == Mode::read || mode == Mode::inspect;
  const bool is_there = has_database(path);
  if (mode != Mode::write && !is_there)
    throw usage_error(fmt::format("there is no database {0}: `evo run --task TASK --db {0}` makes one", path.string()));
  if (mode == Mode::write && !in_memory(path)) make_folder(path);
  auto opened = std::make_unique<Database>(path, reads ? Database::Access::read : Database::Access::create,
                                           options.busy_timeout_ms);
  Database& database = *opened;
  if (mode == Mode::inspect) {
    require_version(database);
    return Store(std::move(opened));
  }
  if (reads) {
    require_schema(database);
    return Store(std::move(opened));
  }
  if (mode == Mode::change) refuse_empty(database);
  if (options.max_pages > 0) database.pragma(fmt::format("max_page_count = {}", options.max_pages));
  refuse_unknown(database);
  use_write_ahead_log(database, options.busy_timeout_ms);
  migrate(database);
  return Store(std::move(opened));
}

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const fs::path& Store::path() const {
  return database_->path();
}

std::int64_t Store::version() const {
  return database_->pragma("data_version");
}

RunId Store::begin_run(const RunInfo& info) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  const std::int64_t board = board_id(database, task_id(database, info.task, info.task_hash, info.files), info);
  const std::int64_t device = device_id(database, info.device);
  RecordInserter::of<RunInfo>(database, "run", "board, device, status, started_at")
      .insert(info, board, device, enumerator_name(RunStatus::running), now_of(database));
  const RunId id = database.last_id();
  std::int64_t position = 0;
  for (const DeviceRecord& further : info.further_devices) {
    database.prepare("INSERT INTO run_device VALUES (?, ?, ?)")
        .bind(id, ++position, device_id(database, further))
        .run();
  }
  database.leases().take(id);
  transaction.commit();
  return id;
}

RunInfo Store::reopen_run(RunId run_id, std::optional<std::uint64_t> evaluation_limit,
                          std::optional<std::uint64_t> settled_until) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  std::optional<RunRow> row = run(run_id);
  if (!row) throw no_such_run(database, run_id);
  database.leases().take(run_id);
  if (evaluation_limit) row->info.evaluation_limit = evaluation_limit;
  if (settled_until) {
    row->info.settles = false;
    row->info.settled_until = *settled_until;
  }
  database
      .prepare(
          "UPDATE run SET status = 'running', finished_at = NULL, evaluation_limit = ?, settles = ?, settled_until = ? "
          "WHERE id = ?")
      .bind(row->info.evaluation_limit, row->info.settles, row->info.settled_until, run_id)
      .run();
  row->info.files = task_files(row->info.task_hash);
  transaction.commit();
  return std::move(row->info);
}

void Store::finish_run(RunId run, RunStatus status) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  Statement update = database.prepare("UPDATE run SET status = ?, finished_at = ? WHERE id = ?");
  if (update.bind(enumerator_name(status), now_of(database), run).run() != 1) throw no_such_run(database, run);
  transaction.commit();
  database.leases().give_back(run);
}

std::unique_ptr<Archive> Store::archive(RunId run, EliteComparer compare, EliteChecks checks) {
  return make_archive(*database_, run, std::move(compare), std::move(checks));
}

void Store::record_checks(CandidateId candidate, const CheckedElite& checked) {
  settle_checks(*database_, candidate, checked);
}

std::unique_ptr<LatePredictions> Store::late_predictions(RunId run) {
  return make_late_predictions(*database_, run);
}

}  // namespace evo
