#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// The program's log: what its workers, requests and devices did, for whoever looks for the cause of something later.
/// Nothing of it reaches the terminal, and while no log is open a line costs one load and its words are not made. Any
/// thread may write.
///
/// One process writes a file: the one that the user has started. When a file is full it is renamed and another begun;
/// two processes that did so would take each other's lines away. A worker process therefore writes its lines, each
/// behind a mark, to its standard error. Whoever started it reads that anyway, also from another host, and puts the
/// lines into its own log, behind the worker's name and with the time at which they came.
enum class LogLevel : std::uint8_t {
  error,    ///< Ended a command.
  warning,  ///< Cost something: a lost worker, a host or a device set aside.
  info,     ///< Lives of workers, verdicts, clocks of timings, slow steps.
  debug,    ///< Every request.
};
std::optional<LogLevel> log_level_named(std::string_view name);

/// A file and its predecessors: FILE, FILE.1 (before the extension), ...
struct LogSize {
  std::size_t file_bytes = 10 << 20;
  std::size_t old_files = 4;
};

/// Opens this process's log; lines are appended. Where another process writes to the file, one of its own is opened
/// beside it, NAME-PID.EXTENSION. Throws usage_error where the file cannot be written.
void open_log(const std::string& path, LogLevel level, LogSize size = {});

/// A worker process is given its parent's level as the last of its arguments. Empty while no log is open.
std::vector<std::string> log_argument();
/// Of a worker process: takes that argument away, if it is there, and opens a log that goes to the parent.
void take_log_argument(std::vector<std::string>& arguments);

/// Whether such a line is written.
bool logs(LogLevel level) noexcept;
/// Never throws: a line that cannot be written is lost.
void write_log(LogLevel level, std::string_view line) noexcept;
/// `words`: makes the line, where it is written.
template <typename Words>
void log_line(LogLevel level, const Words& words) {
  if (logs(level)) write_log(level, words());
}

/// Whether a line that a worker process wrote to standard error is one of its log.
bool is_log_line(std::string_view line);
/// Writes a line of a worker's standard error: one of its log as such, any other as a warning.
void write_log_of_worker(std::string_view worker, std::string_view line);

}  // namespace evo
