#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

namespace evo {

/// Internal to population/: which runs of a database go on, in any process on any host that has the file. A run holds a
/// lock on a file beside the database, which the operating system takes back however the process ends. SQLite's own
/// locks are on the database's file, and would be lost if it were opened once more for this.
class RunLeases {
 public:
  explicit RunLeases(std::filesystem::path database) : database_(std::move(database)) {}
  ~RunLeases();
  RunLeases(const RunLeases&) = delete;
  RunLeases& operator=(const RunLeases&) = delete;

  /// Throws usage_error where another process holds it.
  void take(std::int64_t run);
  void give_back(std::int64_t run);
  /// By whomever. True where nobody can tell.
  bool is_held(std::int64_t run) const;

 private:
  std::filesystem::path file_of(std::int64_t run) const;

  std::filesystem::path database_;
  std::map<std::int64_t, int> held_;  ///< Descriptors of the files; -1 for a database in memory.
};

}  // namespace evo
