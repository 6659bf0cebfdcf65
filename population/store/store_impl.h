#pragma once

#include <optional>
#include <string>

#include "population/store/database.h"
#include "population/store/store.h"

namespace evo {

/// Internal to population/: what the store's parts share.
struct Store::Impl {
  Impl(const std::filesystem::path& path, Database::Access access, int busy_timeout_ms)
      : database(path, access, busy_timeout_ms) {}
  Database database;
};

/// "now" in SQL: UTC, ISO 8601, milliseconds.
inline constexpr const char* kNow = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// Columns in which a text stands for something. A row that was edited by hand may be unreadable: the error
/// then names the database.
Genome stored_genome(const Database& database, const std::string& json);
Bindings stored_bindings(const Database& database, const std::string& json);
Target stored_target(const Database& database, const std::string& json);
Verdict stored_verdict(const Database& database, const std::string& name);

/// The id of a task's or device's row, which is made when missing. A task may come without its files.
std::int64_t task_id(Database& database, const std::string& task, const std::string& hash, const SourceTree& files);
std::int64_t device_id(Database& database, const DeviceRecord& device);

/// The id of a text in table text, which is made when missing.
std::int64_t store_text(Database& database, const std::string& content);

/// Everything that was recorded of a candidate's evaluation (population/store/evaluation_rows.cpp).
void insert_evaluation(Database& database, CandidateId candidate, const Evaluation& evaluation);
Evaluation read_evaluation(Database& database, CandidateId candidate);
std::vector<Timing> read_timings(Database& database, CandidateId candidate);  ///< Without samples.

std::unique_ptr<Archive> make_archive(Database& database, RunId run, EliteJudge judge);

/// Lets a valid candidate compete for the elites of a board (population/store/archive.cpp).
struct Contender;
void compete(Database& database, std::int64_t board, const Contender& challenger);

}  // namespace evo
