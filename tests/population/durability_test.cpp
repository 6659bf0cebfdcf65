#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "engine/base/rng.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;

namespace {

namespace fs = std::filesystem;

/// A child process and the pipe on which it reports.
struct Child {
  pid_t pid = 0;
  int reports = -1;
};

/// Starts a process that records result after result into `run` and reports each ticket once record() has
/// returned.
Child start_writer(const fs::path& path, RunId run, std::uint64_t first_ticket, std::uint64_t results) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  if (pid != 0) {
    ::close(ends[1]);
    return {pid, ends[0]};
  }
  ::close(ends[0]);
  int code = 0;
  try {
    Store store = Store::open(path, Store::Mode::write);
    const auto archive = store.archive(run);
    for (std::uint64_t ticket = first_ticket; ticket < first_ticket + results; ++ticket) {
      const Proposal p = proposal(ticket, ticket > 0 ? std::vector{ticket - 1} : std::vector<std::uint64_t>{});
      // The later the faster, however many results a fast disk takes before the kill.
      const double latency_us = 1000.0 / (1.0 + static_cast<double>(ticket));
      // Several pages for each transaction, so that a kill can fall between them.
      archive->record(p, candidate(p, std::string(20'000, 'x') + std::to_string(ticket)),
                      valid(latency_us, std::to_string(ticket)));
      if (::write(ends[1], &ticket, sizeof ticket) != sizeof ticket) ::_exit(1);
    }
  } catch (const Error& error) {
    code = 3;
  }
  ::_exit(code);
}

/// The next reported ticket; empty when the child has gone.
std::optional<std::uint64_t> next_report(const Child& child) {
  std::uint64_t ticket = 0;
  if (::read(child.reports, &ticket, sizeof ticket) != sizeof ticket) return std::nullopt;
  return ticket;
}

int wait_for(const Child& child) {
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  ::close(child.reports);
  return status;
}

}  // namespace

TEST_CASE("nothing reported is lost when the writer is killed at a random moment") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  const RunId run = Store::open(path, Store::Mode::write).begin_run(run_info());
  Rng rng(2024);
  std::set<std::uint64_t> reported;
  std::uint64_t next_ticket = 0;
  for (int round = 0; round < 40; ++round) {
    const Child child = start_writer(path, run, next_ticket, 1'000'000);
    const std::uint64_t reports_before_kill = 1 + rng.below(6);
    for (std::uint64_t i = 0; i < reports_before_kill; ++i) reported.insert(next_report(child).value());
    // Lands anywhere within the next result or two.
    ::usleep(static_cast<useconds_t>(rng.below(3000)));
    ::kill(child.pid, SIGKILL);
    while (const auto ticket = next_report(child)) reported.insert(*ticket);
    CHECK(WIFSIGNALED(wait_for(child)));

    std::optional<Store> store = Store::open(path, Store::Mode::read);
    REQUIRE(store->check() == std::vector<std::string>{});
    const std::vector<OutcomeRow> outcomes = store->outcomes(run);
    REQUIRE(outcomes.size() >= reported.size());
    for (const std::uint64_t ticket : reported) REQUIRE(outcomes.at(ticket).ticket == ticket);
    // Later is faster here: the last three committed are the elites.
    REQUIRE(store->elites().at(0).candidate == outcomes.back().candidate);
    next_ticket = outcomes.size();
    store.reset();
    REQUIRE(folder.files() == std::vector<std::string>{"evo.db"});  // The reader has folded the dead writer's log in.
  }
  CHECK(reported.size() >= 40);
}

TEST_CASE("a killed writer's log is read even where nothing may be written") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  const RunId run = Store::open(path, Store::Mode::write).begin_run(run_info());
  const Child child = start_writer(path, run, 0, 1'000'000);
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) last = next_report(child).value();
  ::kill(child.pid, SIGKILL);
  wait_for(child);
  REQUIRE(fs::file_size(folder / "evo.db-wal") > 0);
  const auto readable = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  for (const std::string& name : folder.files()) fs::permissions(folder / name, readable);
  fs::permissions(folder.path(), readable | fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec);
  const auto read = [&] {
    const Store store = Store::open(path, Store::Mode::read);
    if (store.outcomes(run).size() <= last) throw machine_error("reported rows are missing");
    if (!store.check().empty()) throw machine_error("unsound");
  };
  const ChildResult with_index = in_unprivileged_child(read);
  CHECK(with_index.output.empty());
  CHECK(with_index.exit_code == 0);

  // Without the log's index SQLite cannot read the log here. Reading on without it would show less than was
  // reported.
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  fs::remove(folder / "evo.db-shm");
  const ChildResult without_index = in_unprivileged_child(read);
  CHECK((without_index.exit_code == 0 || without_index.output.find("cannot be read") != std::string::npos));
}

TEST_CASE("a database whose creation was interrupted is created by the next writer") {
  Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    const TempFolder folder;
    const fs::path path = folder / "evo.db";
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      Store::open(path, Store::Mode::write).begin_run(run_info());
      ::_exit(0);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::usleep(static_cast<useconds_t>(rng.below(4000)));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    Store store = Store::open(path, Store::Mode::write);
    store.begin_run(run_info());
    CHECK(store.check().empty());
  }
}

TEST_CASE("two runs write to one database at once while a third process reads it") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  RunId first = 0;
  RunId second = 0;
  {
    Store store = Store::open(path, Store::Mode::write);
    first = store.begin_run(run_info());
    second = store.begin_run(run_info());
  }
  const std::uint64_t results = 60;
  const Child a = start_writer(path, first, 0, results);
  const Child b = start_writer(path, second, 0, results);
  std::uint64_t seen = 0;
  while (const auto ticket = next_report(a)) {
    const Store reader = Store::open(path, Store::Mode::read);
    REQUIRE(reader.outcomes(first).size() > *ticket);
    REQUIRE(reader.elites().size() <= 3);
    ++seen;
  }
  while (next_report(b)) {
  }
  CHECK(WEXITSTATUS(wait_for(a)) == 0);
  CHECK(WEXITSTATUS(wait_for(b)) == 0);
  CHECK(seen == results);
  const Store store = Store::open(path, Store::Mode::read);
  CHECK(store.outcomes(first).size() == results);
  CHECK(store.outcomes(second).size() == results);
  CHECK(store.check().empty());
}

TEST_CASE("many processes that make one new database at once all succeed") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int code = 0;
      try {
        Store::open(path, Store::Mode::write).begin_run(run_info());
      } catch (const Error&) {
        code = 3;
      }
      ::_exit(code);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  const Store store = Store::open(path, Store::Mode::read);
  CHECK(store.runs().size() == 8);
  CHECK(store.check().empty());
}

TEST_CASE("when two processes resume a run at once, each row of the slower one is refused") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  Store one = Store::open(path, Store::Mode::write);
  const RunId run = one.begin_run(run_info());
  Store two = Store::open(path, Store::Mode::write);
  const auto archive_one = one.archive(run);
  const auto archive_two = two.archive(run);
  archive_one->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  CHECK(error_of([&] {
          archive_two->record(proposal(0), candidate(proposal(0), "a"), valid(9, "a"));
        }).find("another process is running it") != std::string::npos);
  CHECK(archive_two->recall(proposal(0))->evaluation.latency_us == 10);
}
