#include "cli/text/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "engine/base/error.h"
#include "evaluator/worker/process.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const fs::path& path, int error) {
  return machine_error(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

UniqueFd opened(const fs::path& path, int flags) {
  return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, 0666));
}

/// False with errno set when not all was written.
bool write_all(const UniqueFd& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Some file systems report a full disk only here.
bool close(UniqueFd& file) {
  return ::close(file.release()) == 0;
}

void write_directly(const fs::path& path, std::string_view text) {
  UniqueFd file = opened(path, O_WRONLY);
  if (!file.is_open() || !write_all(file, text) || !close(file)) throw cannot_write(path, errno);
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

std::string read_text_file(const fs::path& path, std::uintmax_t most_bytes) {
  return plain_text(read_file(path, most_bytes), path);
}

std::string read_task_file(const fs::path& path, std::uintmax_t most_bytes) {
  const bool holds_numbers = path.extension() == ".npy" || path.extension() == ".bin";
  return holds_numbers ? read_file(path, most_bytes) : read_text_file(path, most_bytes);
}

std::string plain_text(std::string content, const fs::path& path) {
  constexpr std::string_view kMark = "\xef\xbb\xbf", kInNoText("\0\xff", 2);
  if (const std::size_t at = content.find_first_of(kInNoText); at != content.npos)
    throw usage_error(fmt::format("{} is no text in UTF-8: byte {} is {:#04x}; save it as UTF-8", path.string(), at,
                                  static_cast<unsigned char>(content[at])));
  if (content.starts_with(kMark)) content.erase(0, kMark.size());
  return content;
}

void write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) throw machine_error(fmt::format("cannot write {}: it is a folder", path.string()));
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, text);
  if (status.type() == fs::file_type::none) throw cannot_write(path, error.value());
  fs::path target = path;
  while (fs::is_symlink(fs::symlink_status(target, error)))
    target = target.parent_path() / fs::read_symlink(target, error);

  const fs::path temporary = target.string() + fmt::format(".{}.tmp", getpid());
  UniqueFd file = opened(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) throw cannot_write(path, errno);
  const bool written = write_all(file, text) && ::fsync(file.get()) == 0 && close(file);
  if (!written || rename(temporary.c_str(), target.c_str()) != 0) {
    const int cause = errno;
    unlink(temporary.c_str());
    throw cannot_write(path, cause);
  }
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw machine_error(fmt::format("cannot make the folder {}: {}", folder.string(), failed.message()));
}

void write_files(const std::filesystem::path& folder, const SourceTree& files) {
  for (const auto& [path, text] : files) {
    make_folder((folder / path).parent_path());
    write_file(folder / path, text);
  }
}

}  // namespace evo::cli
