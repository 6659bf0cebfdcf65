#include "evaluator/worker/rights.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

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

TEST_CASE("a worker cannot reach the network but can talk to processes of this machine") {
  for (const WorkerKind kind : {WorkerKind::host_only, WorkerKind::gpu}) {
    CHECK_FALSE(in_worker(kind, [] { return opens_socket(AF_INET) || opens_socket(AF_INET6); }));
    CHECK(in_worker(kind, [] { return opens_socket(AF_UNIX); }));
  }
}

TEST_CASE("a worker without a GPU cannot start another program") {
  const auto starts = [] {
    const pid_t child = ::fork();
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
