#include "population/store/run_leases.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/base/error.h"

namespace evo {
namespace {

namespace fs = std::filesystem;

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Whether the path still leads to the open file: who held it before may have removed it.
bool is_at(const fs::path& path, int file) {
  struct stat there = {}, here = {};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(file, &here) == 0 && there.st_ino == here.st_ino &&
         there.st_dev == here.st_dev;
}

/// "process 4711 on node7", for people.
void say_who(int file) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string text = fmt::format("process {} on {}\n", ::getpid(), host);
  if (::ftruncate(file, 0) == 0) [[maybe_unused]]
    const ssize_t written = ::pwrite(file, text.data(), text.size(), 0);
}

std::string who(int file) {
  char text[300] = "";
  const ssize_t length = ::pread(file, text, sizeof text - 1, 0);
  const std::string words(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  return words.starts_with("process ") ? words.substr(0, words.find('\n')) : "another process";
}

}  // namespace

fs::path RunLeases::file_of(std::int64_t run) const {
  return fmt::format("{}-run-{}", database_.string(), run);
}

void RunLeases::take(std::int64_t run) {
  if (held_.contains(run)) return;
  if (database_ == ":memory:") {
    held_[run] = -1;
    return;
  }
  const fs::path path = file_of(run);
  for (;;) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
      throw machine_error(
          fmt::format("cannot write {}, which says that run {} goes on: {}", path.string(), run, std::strerror(errno)));
    struct flock lock = whole_file();
    const bool taken = ::fcntl(file, F_OFD_SETLK, &lock) == 0;
    if (!taken && (errno == EAGAIN || errno == EACCES)) {
      const std::string other = who(file);
      ::close(file);
      throw usage_error(fmt::format("run {} goes on in {}: wait for its end, or end it", run, other));
    }
    // A file system without locks: the file stands for the lock.
    if (!is_at(path, file)) {
      ::close(file);
      continue;
    }
    say_who(file);
    held_[run] = file;
    return;
  }
}

void RunLeases::give_back(std::int64_t run) {
  const auto found = held_.find(run);
  if (found == held_.end()) return;
  if (found->second >= 0) {
    ::unlink(file_of(run).c_str());
    ::close(found->second);
  }
  held_.erase(found);
}

bool RunLeases::is_held(std::int64_t run) const {
  if (held_.contains(run)) return true;
  const int file = ::open(file_of(run).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;
  struct flock lock = whole_file();
  const bool answered = ::fcntl(file, F_OFD_GETLK, &lock) == 0;
  ::close(file);
  return !answered || lock.l_type != F_UNLCK;
}

RunLeases::~RunLeases() {
  while (!held_.empty()) give_back(held_.begin()->first);
}

}  // namespace evo
