#include "cli/text/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "engine/base/error.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const fs::path& path, int error) {
  return machine_error(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

/// An open file that is closed with the object.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return descriptor_ >= 0; }

  /// False with errno set when not all was written.
  bool write_all(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
  bool sync() { return fsync(descriptor_) == 0; }
  /// Some file systems report a full disk only here.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

void write_directly(const fs::path& path, std::string_view text) {
  Descriptor file(path, O_WRONLY);
  if (!file.is_open() || !file.write_all(text) || !file.close()) throw cannot_write(path, errno);
}

}  // namespace

std::string read_file(const fs::path& path, std::uintmax_t most_bytes) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw usage_error(fmt::format("{} is not a file", path.string()));
  if (fs::file_size(path, error) > most_bytes)
    throw usage_error(fmt::format("{} has more than {} bytes", path.string(), most_bytes));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw usage_error(fmt::format("cannot read {}: check its permissions", path.string()));
  return std::move(text).str();
}

void write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) throw machine_error(fmt::format("cannot write {}: it is a folder", path.string()));
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, text);
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : path;
  if (error && fs::exists(status)) throw cannot_write(path, error.value());

  const fs::path temporary = target.string() + fmt::format(".{}.tmp", getpid());
  Descriptor file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) throw cannot_write(path, errno);
  const bool written = file.write_all(text) && file.sync() && file.close();
  if (!written || rename(temporary.c_str(), target.c_str()) != 0) {
    const int cause = errno;
    unlink(temporary.c_str());
    throw cannot_write(path, cause);
  }
}

}  // namespace evo::cli
