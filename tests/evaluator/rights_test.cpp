#include "evaluator/worker/rights.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace evo;

namespace {

/// Runs the question in a child that has given its rights up: 1 for yes.
template <typename Question>
bool in_worker(WorkerKind kind, Question question) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    reduce_rights(kind);
    ::_exit(question() ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

bool opens_socket(int family) {
  return ::socket(family, SOCK_STREAM, 0) >= 0;
}

}  // namespace

TEST_CASE("a worker cannot reach the network, and only one of a GPU talks to processes of this machine") {
  for (const WorkerKind kind : {WorkerKind::host_only, WorkerKind::gpu}) {
    CHECK_FALSE(in_worker(kind, [] { return opens_socket(AF_INET) || opens_socket(AF_INET6); }));
  }
  CHECK(in_worker(WorkerKind::gpu, [] { return opens_socket(AF_UNIX); }));  // The driver does.
  CHECK_FALSE(in_worker(WorkerKind::host_only, [] { return opens_socket(AF_UNIX); }));
}

TEST_CASE("a worker reaches into no other process, and not into the kernel's queues") {
  const pid_t parent = ::getpid();
  for (const WorkerKind kind : {WorkerKind::host_only, WorkerKind::gpu}) {
    const auto refused = [&](long number, auto... arguments) {
      return in_worker(kind, [&] { return ::syscall(number, arguments...) < 0 && errno == EPERM; });
    };
    CHECK(refused(SYS_ptrace, PTRACE_SEIZE, parent, 0L, 0L));
    CHECK(refused(SYS_process_vm_readv, parent, 0L, 0L, 0L, 0L, 0L));
    CHECK(refused(SYS_pidfd_getfd, 0, 0, 0));
    CHECK(refused(SYS_io_uring_setup, 8, 0L));
    CHECK(refused(SYS_execveat, AT_FDCWD, "/bin/true", 0L, 0L, 0));
  }
}

TEST_CASE("a worker without a GPU changes no file and no other process, and makes none") {
  const pid_t parent = ::getpid();
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("evo_rights_file_" + std::to_string(::getpid()));
  std::ofstream(file) << "something";
  const std::string name = file.string(), other = name + "2";
  const auto may = [](auto call) { return in_worker(WorkerKind::host_only, [&] { return call() >= 0; }); };
  CHECK_FALSE(may([&] { return ::rename(name.c_str(), other.c_str()); }));
  CHECK_FALSE(may([&] { return ::truncate(name.c_str(), 0); }));
  CHECK_FALSE(may([&] { return ::unlink(name.c_str()); }));
  CHECK_FALSE(may([&] { return ::open(name.c_str(), O_RDWR); }));
  CHECK_FALSE(may([&] { return ::kill(parent, 0); }));
  CHECK_FALSE(may([&] { return static_cast<int>(::syscall(SYS_memfd_create, "x", 0)); }));
  CHECK_FALSE(may([&] { return ::fork(); }));
  CHECK(may([&] { return ::open(name.c_str(), O_RDONLY); }));
  CHECK(in_worker(WorkerKind::host_only, [] {
    int sum = 0;
    std::thread([&] { sum = 1; }).join();
    return sum == 1;
  }));
  std::filesystem::remove(file);
}

TEST_CASE("a confined worker reads what it was left, and the memory of no other process") {
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) < 1) SKIP("this kernel has no Landlock");
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("evo_rights_folder_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "inside");
  for (const char* file : {"secret", "inside/header"}) std::ofstream(folder / file) << "words";
  const std::string memory = "/proc/" + std::to_string(::getpid()) + "/mem";
  const auto opens = [&](const std::string& path) {
    return in_worker(WorkerKind::host_only, [&] {
      confine_reading({folder / "inside"});
      return ::open(path.c_str(), O_RDONLY) >= 0;
    });
  };
  CHECK(opens((folder / "inside/header").string()));
  CHECK_FALSE(opens((folder / "secret").string()));
  CHECK_FALSE(opens((folder / "inside/../secret").string()));
  CHECK_FALSE(opens(memory));
  std::filesystem::remove_all(folder);
}

TEST_CASE("a worker without a GPU cannot start another program") {
  const auto starts = [] {
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) {
      ::execl("/bin/true", "true", nullptr);
      ::_exit(9);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  CHECK_FALSE(in_worker(WorkerKind::host_only, starts));
  CHECK(in_worker(WorkerKind::gpu, starts));
}

TEST_CASE("a worker without a GPU cannot write a file") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("evo_rights_" + std::to_string(::getpid()));
  CHECK_FALSE(in_worker(WorkerKind::host_only, [&] {
    std::ofstream out(file);
    out << "something";
    return static_cast<bool>(out.flush());
  }));
  std::filesystem::remove(file);
}

TEST_CASE("a worker without a GPU gets no more memory than its share") {
  CHECK(host_worker_memory_bytes() >= std::uint64_t{4} << 30);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("sanitizers need address space without end");
#endif
  CHECK_FALSE(in_worker(WorkerKind::host_only, [] { return std::malloc(host_worker_memory_bytes()) != nullptr; }));
}
