#pragma once

#include <optional>
#include <string>
#include <vector>

#include "population/store/database.h"
#include "population/store/records.h"

/// Values and rows that several tables refer to. Internal to population/store.
namespace evo {

/// UTC, ISO 8601, milliseconds.
std::string now_of(Database& database);

/// Of one candidate, or all; newest first.
std::vector<Sitting> read_sittings(Database& database, std::optional<CandidateId> candidate);

// The id of a row. Each inserts the row when it is missing. A task may come without its files.
std::int64_t task_id(Database& database, const std::string& task, const std::string& hash, const SourceTree& files);
std::int64_t device_id(Database& database, const DeviceRecord& device);

std::int64_t store_text(Database& database, const std::string& content);
/// The content of a text, in this column, with its hash in the next. Throws machine_error where they differ.
std::string intact_text(const Statement& row, int column);
/// A path of a file in a folder, in this column. Throws machine_error for one that leads out of the folder.
std::string inner_path(const Statement& row, int column);

}  // namespace evo
