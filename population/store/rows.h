#pragma once

#include <optional>
#include <string>
#include <vector>

#include "population/store/database.h"
#include "population/store/records.h"

/// Values and rows that several tables refer to. Internal to population/store.
namespace evo {

/// "now" in SQL: UTC, ISO 8601, milliseconds.
inline constexpr const char* kNow = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
/// The same as a value.
std::string now_of(Database& database);

// The value that a column of text stands for. Each throws machine_error, which names the database, for a text that it
// cannot read: somebody may have edited the row by hand.
Genome stored_genome(const Database& database, const std::string& json);
Bindings stored_bindings(const Database& database, const std::string& json);
Target stored_target(const Database& database, const std::string& json);
std::vector<Seed> stored_seeds(const Database& database, const std::string& json);

/// Reads seven columns from `first` on: label, kind, name, arch, uuid, driver, facts.
DeviceRecord read_device(const Database& database, const Statement& row, int first);

/// Of one candidate, or all; newest first.
std::vector<Sitting> read_sittings(Database& database, std::optional<CandidateId> candidate);

// The id of a row. Each inserts the row when it is missing. A task may come without its files.
std::int64_t task_id(Database& database, const std::string& task, const std::string& hash, const SourceTree& files);
std::int64_t device_id(Database& database, const DeviceRecord& device);

std::int64_t store_text(Database& database, const std::string& content);

}  // namespace evo
