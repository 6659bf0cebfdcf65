#include "population/store/store.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/task/mutant.h"
#include "population/store/codec.h"
#include "population/store/schema.h"
#include "population/store/store_impl.h"

namespace evo {
namespace {

namespace fs = std::filesystem;

bool in_memory(const fs::path& path) {
  return path == ":memory:";
}

void refuse_folder(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw usage_error(fmt::format("{} is a folder: name a database file with --db", path.string()));
}

void require_file(const fs::path& path) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) {
    throw usage_error(
        fmt::format("there is no database {}: `evo run --task TASK --db {}` makes one", path.string(), path.string()));
  }
}

/// The database's folder is made when only it is missing: the default runs/ may not exist yet, a mistyped
/// path should not grow a tree.
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
      .bind(task)
      .bind(key)
      .bind(info.objective)
      .run();
  Statement row = database.prepare("SELECT id FROM board WHERE task = ? AND device_key = ? AND objective = ?");
  row.bind(task).bind(key).bind(info.objective).next();
  return row.integer(0);
}

Error no_such_run(const Database& database, RunId run) {
  return usage_error(fmt::format("database {} has no run {}: `evo runs` lists them", database.path().string(), run));
}

}  // namespace

std::string device_key(const DeviceRecord& device) {
  return device.kind + " " + device.name + " " + device.arch;
}

std::string objective_of(const Target& target) {
  std::string text = target.objective;
  for (const Shape& shape : target.timed) text += " " + shape.name;
  for (const auto& [name, value] : target.options) text += " " + name + "=" + expr::to_string(value);
  return text;
}

SourceTree files_of_task(const SourceTree& tree, std::string_view task) {
  SourceTree files;
  const std::string folder = std::string(task) + "/";
  for (const auto& [path, content] : tree) {
    if (is_mutant_file(path, task)) continue;
    if (path.starts_with(folder) || path.starts_with("include/")) files.emplace(path, content);
  }
  return files;
}

std::string_view name_of(RunStatus status) {
  switch (status) {
    case RunStatus::running:
      return "running";
    case RunStatus::finished:
      return "finished";
    case RunStatus::interrupted:
      return "interrupted";
    case RunStatus::failed:
      return "failed";
  }
  return "failed";
}

std::int64_t store_text(Database& database, const std::string& content) {
  const std::string hash = hash_hex(content);
  Statement row = database.prepare("SELECT id FROM text WHERE hash = ?");
  row.bind(hash);
  if (row.next()) return row.integer(0);
  database.prepare("INSERT INTO text (hash, content) VALUES (?, ?)").bind(hash).bind(content).run();
  return database.last_id();
}

std::int64_t task_id(Database& database, const std::string& task, const std::string& hash, const SourceTree& files) {
  Statement insert = database.prepare("INSERT INTO task (name, hash) VALUES (?, ?) ON CONFLICT DO NOTHING");
  insert.bind(task).bind(hash).run();
  Statement row = database.prepare("SELECT id FROM task WHERE name = ? AND hash = ?");
  row.bind(task).bind(hash).next();
  const std::int64_t id = row.integer(0);
  // Imported results bring a task's hash without its files.
  Statement known = database.prepare("SELECT 1 FROM task_file WHERE task = ?");
  if (known.bind(id).next()) return id;
  Statement file = database.prepare("INSERT INTO task_file VALUES (?, ?, ?)");
  for (const auto& [path, content] : files) {
    file.bind(id).bind(path).bind(store_text(database, content)).run();
  }
  return id;
}

std::int64_t device_id(Database& database, const DeviceRecord& device) {
  const std::string facts = bindings_to_json(device.facts);
  database
      .prepare(
          "INSERT INTO device (key, label, kind, name, arch, uuid, driver, facts) VALUES (?, ?, ?, ?, ?, ?, "
          "?, ?) "
          "ON CONFLICT DO NOTHING")
      .bind(device_key(device))
      .bind(device.id)
      .bind(device.kind)
      .bind(device.name)
      .bind(device.arch)
      .bind(device.uuid)
      .bind(device.driver)
      .bind(facts)
      .run();
  Statement row = database.prepare(
      "SELECT id FROM device WHERE label = ? AND kind = ? AND name = ? AND arch = ? AND uuid = ? AND driver "
      "= ? AND facts = ?");
  row.bind(device.id)
      .bind(device.kind)
      .bind(device.name)
      .bind(device.arch)
      .bind(device.uuid)
      .bind(device.driver)
      .bind(facts)
      .next();
  return row.integer(0);
}

Store Store::open(const fs::path& path, Mode mode, const StoreOptions& options) {
  const bool reads = mode == Mode::read;
  refuse_folder(path);
  if (mode != Mode::write) {
    require_file(path);
  } else if (!in_memory(path)) {
    make_folder(path);
  }
  auto impl =
      std::make_unique<Impl>(path, reads ? Database::Access::read : Database::Access::create, options.busy_timeout_ms);
  Database& database = impl->database;
  if (reads) {
    require_schema(database);
    return Store(std::move(impl));
  }
  if (mode == Mode::change) refuse_empty(database);
  if (options.max_pages > 0) database.pragma(fmt::format("max_page_count = {}", options.max_pages));
  refuse_unknown(database);
  use_write_ahead_log(database, options.busy_timeout_ms);
  migrate(database);
  return Store(std::move(impl));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const fs::path& Store::path() const {
  return impl_->database.path();
}

RunId Store::begin_run(const RunInfo& info) {
  static const std::string kInsert = fmt::format(
      "INSERT INTO run (board, device, target, family, strategy, seed, salt, evaluation_limit, time_limit_s, "
      "width, "
      "command, "
      "evo_version, nvrtc_version, seeds, screen, status, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, "
      "?, "
      "'running', {})",
      kNow);
  Database& database = impl_->database;
  WriteTransaction transaction(database);
  const std::int64_t board = board_id(database, task_id(database, info.task, info.task_hash, info.files), info);
  const std::int64_t device = device_id(database, info.device);
  database.prepare(kInsert)
      .bind(board)
      .bind(device)
      .bind(target_to_json(info.target))
      .bind(info.family)
      .bind(info.strategy)
      .bind(info.seed)
      .bind(info.salt)
      .bind(info.evaluation_limit)
      .bind(info.time_limit_s)
      .bind(info.width)
      .bind(info.command)
      .bind(info.evo_version)
      .bind(info.nvrtc_version)
      .bind(seeds_to_json(info.seeds))
      .bind(info.screen)
      .run();
  const RunId id = database.last_id();
  transaction.commit();
  return id;
}

RunInfo Store::reopen_run(RunId run_id, std::optional<std::uint64_t> evaluation_limit) {
  Database& database = impl_->database;
  WriteTransaction transaction(database);
  std::optional<RunRow> row = run(run_id);
  if (!row) throw no_such_run(database, run_id);
  if (evaluation_limit) row->info.evaluation_limit = *evaluation_limit;
  database.prepare("UPDATE run SET status = 'running', finished_at = NULL, evaluation_limit = ? WHERE id = ?")
      .bind(row->info.evaluation_limit)
      .bind(run_id)
      .run();
  row->info.files = task_files(row->info.task_hash);
  transaction.commit();
  return std::move(row->info);
}

void Store::finish_run(RunId run, RunStatus status) {
  static const std::string kUpdate = fmt::format("UPDATE run SET status = ?, finished_at = {} WHERE id = ?", kNow);
  Database& database = impl_->database;
  WriteTransaction transaction(database);
  if (database.prepare(kUpdate).bind(name_of(status)).bind(run).run() != 1) throw no_such_run(database, run);
  transaction.commit();
}

std::unique_ptr<Archive> Store::archive(RunId run, EliteJudge judge) {
  return make_archive(impl_->database, run, std::move(judge));
}

}  // namespace evo
