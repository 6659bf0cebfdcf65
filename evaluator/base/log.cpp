#include "evaluator/base/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>

#include "engine/base/error.h"

namespace evo {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"error", "warning", "info", "debug"};
constexpr std::array<spdlog::level::level_enum, 4> kLevelsThere = {spdlog::level::err, spdlog::level::warn,
                                                                   spdlog::level::info, spdlog::level::debug};
constexpr const char* kLinePattern = "%Y-%m-%dT%H:%M:%S.%e%z %l [%P] %v";
constexpr std::string_view kLevelArgument = "--log=";
/// What begins a worker's line: no text begins with this byte. Its level follows, as a digit.
constexpr char kLogMark = '\x1e';
/// Whoever reads a worker's standard error takes so many bytes for one line (channel.cpp), and a write of so few to a
/// pipe is not torn apart.
constexpr std::size_t kLongestLogLine = 2000;

/// Where lines go. It lives as long as the process: other threads may still write while it ends.
struct Log {
  std::atomic<int> most{-1};  ///< The highest level that is written; -1: none.
  std::shared_ptr<spdlog::logger> file;
};

Log& the_log() {
  static Log& log = *new Log;
  return log;
}

int rank_of(LogLevel level) {
  return static_cast<int>(level);
}

std::string in_one_line(std::string_view text) {
  std::string line(text.substr(0, kLongestLogLine));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return line;
}

/// Whether nobody else holds the file; it is then ours while it is open.
bool take_file(int file) {
  return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/// Whether a file is empty or begins as a log does, with a year: lines behind anything else would damage it.
bool may_be_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(5, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  const auto is_digit = [](unsigned char c) { return c >= '0' && c <= '9'; };
  return file.gcount() == 0 || (std::all_of(head.begin(), head.begin() + 4, is_digit) && head[4] == '-');
}

/// The file, or one beside it where another process has that one.
std::string free_path(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) throw usage_error(fmt::format("the log {}: cannot be written: {}", path, std::strerror(errno)));
  if (std::error_code ignored; std::filesystem::is_fifo(path, ignored)) {
    ::close(file);
    throw usage_error(fmt::format("the log {}: it is a pipe; name a file", path));
  }
  if (!may_be_log(path)) {
    ::close(file);
    throw usage_error(fmt::format("the log {}: it holds something else than a log; name a new file", path));
  }
  const bool is_free = take_file(file);
  ::close(file);
  if (is_free) return path;
  const std::filesystem::path named(path);
  return named.parent_path() / fmt::format("{}-{}{}", named.stem().string(), ::getpid(), named.extension().string());
}

/// Says once that lines are lost, in one write: a full disk would say so for each of them.
void tell_lost(const std::string& what) {
  static std::atomic_flag told;
  if (told.test_and_set()) return;
  const std::string line = fmt::format("evo: the log lacks lines: {}\n", what);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void send_to_parent(LogLevel level, const std::string& line) {
  const std::string marked = fmt::format("{}{}{}\n", kLogMark, rank_of(level), line);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, marked.data(), marked.size());
}

std::optional<LogLevel> level_of_log_line(std::string_view line) {
  if (line.size() < 2 || line[0] != kLogMark || line[1] < '0' || line[1] >= '0' + static_cast<int>(kLevelNames.size()))
    return std::nullopt;
  return static_cast<LogLevel>(line[1] - '0');
}

}  // namespace

std::optional<LogLevel> log_level_named(std::string_view name) {
  const auto found = std::ranges::find(kLevelNames, name);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

void open_log(const std::string& path, LogLevel level, LogSize size) {
  spdlog::file_event_handlers handlers;
  handlers.after_open = [](const spdlog::filename_t&, std::FILE* file) {
    ::fcntl(::fileno(file), F_SETFD, FD_CLOEXEC);  // A child would keep the lock.
    take_file(::fileno(file));
  };
  const std::string free = free_path(path);
  try {
    auto sink =
        std::make_shared<spdlog::sinks::rotating_file_sink_mt>(free, size.file_bytes, size.old_files, false, handlers);
    auto file = std::make_shared<spdlog::logger>("evo", std::move(sink));
    file->set_pattern(kLinePattern);
    file->set_level(spdlog::level::debug);
    file->flush_on(spdlog::level::debug);  // The last lines of a process that is killed are the ones that matter.
    file->set_error_handler(tell_lost);
    the_log().file = std::move(file);
  } catch (const spdlog::spdlog_ex& error) {
    throw usage_error(fmt::format("the log {}: {}", free, error.what()));
  }
  the_log().most = rank_of(level);
}

std::vector<std::string> log_argument() {
  const int most = the_log().most;
  if (most < 0) return {};
  return {fmt::format("{}{}", kLevelArgument, kLevelNames[static_cast<std::size_t>(most)])};
}

void take_log_argument(std::vector<std::string>& arguments) {
  if (arguments.empty() || !arguments.back().starts_with(kLevelArgument)) return;
  const auto level = log_level_named(std::string_view(arguments.back()).substr(kLevelArgument.size()));
  if (!level) return;
  arguments.pop_back();
  the_log().most = rank_of(*level);
}

bool logs(LogLevel level) noexcept {
  return rank_of(level) <= the_log().most.load(std::memory_order_relaxed);
}

void write_log(LogLevel level, std::string_view line) noexcept {
  try {
    if (!logs(level)) return;
    const std::string whole = in_one_line(line);
    if (const auto& file = the_log().file) return file->log(kLevelsThere[static_cast<std::size_t>(level)], whole);
    send_to_parent(level, whole);
  } catch (const std::exception&) {
    // Memory is full: the program goes on.
  }
}

bool is_log_line(std::string_view line) {
  return level_of_log_line(line).has_value();
}

void write_log_of_worker(std::string_view worker, std::string_view line) {
  const std::optional<LogLevel> level = level_of_log_line(line);
  if (level) line.remove_prefix(2);
  log_line(level.value_or(LogLevel::warning), [&] { return fmt::format("{}: {}", worker, line); });
}

}  // namespace evo
