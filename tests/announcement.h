#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <string>

namespace evo::testing {

/// A named pipe by which another process says that it has come somewhere: it writes anything to `path()`.
class Announcement {
 public:
  Announcement() {
    std::string folder = (std::filesystem::temp_directory_path() / "evo_announcement_XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    REQUIRE(::mkfifo(path().c_str(), 0600) == 0);
  }
  ~Announcement() { std::filesystem::remove_all(folder_); }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

  std::string path() const { return (folder_ / "pipe").string(); }

  /// Waits, for ever if it must, and returns what was said.
  std::string wait() const {
    const int pipe = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(pipe >= 0);
    std::string said;
    char byte = 0;
    while (::read(pipe, &byte, 1) == 1) said += byte;
    ::close(pipe);
    return said;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace evo::testing
