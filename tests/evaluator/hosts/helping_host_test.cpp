// A model pool that other hosts help, behind commands that run here.
#include "evaluator/hosts/helping_host.h"

#include <signal.h>

#include <chrono>
#include <future>
#include <memory>

#include "evaluator/base/cores.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/compile_pool.h"
#include "evaluator/hosts/model_pool.h"
#include "evaluator/judge/cases.h"
#include "tests/announcement.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

namespace {

const std::string kThere = "sh -c 'exec \"$0\" \"$@\"'";

OtherHost host_behind(const std::string& prefix) {
  return {"node7", prefix, EVO_TEST_WORKER};
}

/// Options whose pool says what it has to say to `notices`.
PipelineOptions modelling_options(Notices& notices) {
  PipelineOptions options = toy_options();
  options.compile_deadline_s = options.run_deadline_s = 60;
  options.binaries = std::make_shared<BinaryCache>();
  options.notice = notices.listener();
  return options;
}

Program program_of(const PipelineOptions& options, const std::string& source) {
  return toy_candidate(options, source).programs.front();
}

std::future<ModelPool::Result> start_model(ModelPool& pool, const PipelineOptions& options, const std::string& source) {
  const CasePlan plan = plan_cases(options.task, options.target, "cuda", 1);
  return pool.model(program_of(options, source), "tiny", plan.cases[plan.smoke].recipe);
}

/// In microseconds; -1: there is no forecast.
double latency_of(std::future<ModelPool::Result>& result) {
  const ModelPool::Result got = result.get();
  const auto* forecast = std::get_if<Forecast>(&got);
  return forecast != nullptr ? forecast->latency_us : -1;
}

Verdict verdict_of_failure(std::future<ModelPool::Result> result) {
  return std::get<Failure>(result.get()).verdict;
}

/// A file of its own, removed at the end.
struct NamedFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("evo_modelling_" + std::to_string(::getpid()));
  ~NamedFile() { std::filesystem::remove(path); }
};

constexpr int kPrograms = 60;

std::vector<std::future<ModelPool::Result>> start_many(ModelPool& pool, const PipelineOptions& options) {
  std::vector<std::future<ModelPool::Result>> results;
  for (int i = 0; i < kPrograms; ++i)
    results.push_back(start_model(pool, options, "counted us=" + std::to_string(i + 1) + ' ' + std::string(200, 'x')));
  return results;
}

/// Every program has its forecast, and was modelled once.
void check_many(std::vector<std::future<ModelPool::Result>>& results, const ModelPool& pool) {
  for (int i = 0; i < kPrograms; ++i) CHECK(latency_of(results[static_cast<std::size_t>(i)]) == i + 1);
  std::uint64_t programs = 0;
  for (const HostShare& share : pool.shares()) programs += share.programs;
  CHECK(programs == kPrograms);
}

}  // namespace

TEST_CASE("another host models, and gives the binaries that it has built") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  {
    ModelPool pool(options, 0);  // Nothing is modelled here.
    pool.join(host_behind(kThere));
    pool.join(host_behind(kThere));
    auto results = start_many(pool, options);
    check_many(results, pool);
    CHECK(verdict_of_failure(start_model(pool, options, "compile_error")) == Verdict::compile_failed);
    CHECK(verdict_of_failure(start_model(pool, options, "unsupported")) == Verdict::unsupported);
    const std::vector<HostShare> shares = pool.shares();
    REQUIRE(shares.size() == 2);  // The host that joined twice is one.
    CHECK(shares[1].host == "node7");
    CHECK(shares[1].programs == kPrograms + 2);
  }
  const auto kept = options.binaries->find(compile_request(program_of(options, "unsupported"), options.device.arch));
  REQUIRE(kept);
  CHECK(kept->ptx == program_of(options, "unsupported").source);
  CHECK(notices.said() == "");
  CHECK(no_children_left());
}

TEST_CASE("another host compiles for a pool that models nothing; what crashes there is compiled here") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  const auto request = [&](const std::string& source) {
    return compile_request(program_of(options, source), options.device.arch);
  };
  {
    CompilePool pool(options, 0, nullptr);  // Nothing is compiled here.
    pool.join(host_behind(kThere));
    pool.join(host_behind(kThere));
    std::vector<std::shared_future<CompilePool::Result>> results;
    for (int i = 0; i < kPrograms; ++i) results.push_back(pool.compile(request("counted us=1 " + std::to_string(i))));
    for (int i = 0; i < kPrograms; ++i) {
      const auto& result = results[static_cast<std::size_t>(i)];
      CHECK(std::get<Binary>(result.get()).ptx == request("counted us=1 " + std::to_string(i)).source);
    }
    const auto wrong = pool.compile(request("compile_error"));
    CHECK(std::get<Failure>(wrong.get()).verdict == Verdict::compile_failed);
    const std::vector<HostShare> shares = pool.shares();
    REQUIRE(shares.size() == 2);
    CHECK(shares[0].programs == 0);
    CHECK(shares[1].host == "node7");
    CHECK(shares[1].programs == kPrograms + 1);
    CHECK(options.binaries->find(request("counted us=1 0")));
  }
  StopSignal stop;
  CompilePool pool(options, 1, &stop);
  pool.join(host_behind(kThere));
  const auto crashed = pool.compile(request("compile_crash"));
  CHECK(std::get<Failure>(crashed.get()).verdict == Verdict::crashed);
  CHECK(notices.said() == "");
}

TEST_CASE("a compile pool ends at once while another host compiles") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  const Announcement begun;
  std::shared_future<CompilePool::Result> hanging;
  {
    CompilePool pool(options, 0, nullptr);
    pool.join(host_behind(kThere));
    hanging =
        pool.compile(compile_request(program_of(options, "compile_hang begun=" + begun.path()), options.device.arch));
    begun.wait();
  }
  CHECK_THROWS(hanging.get());
  CHECK(no_children_left());
}

TEST_CASE("a host needs no device to compile") {
  Notices notices;
  PipelineOptions options = modelling_options(notices);
  options.device.id = "fake:7";
  CompilePool pool(options, 0, nullptr);
  pool.join(host_behind(kThere));
  const auto result = pool.compile(compile_request(program_of(options, "honest"), options.device.arch));
  CHECK(std::holds_alternative<Binary>(result.get()));
}

TEST_CASE("a program that hangs on another host holds up no other one there") {
  if (usable_cores() < 2) SKIP("one core works on one program at a time");
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  ModelPool pool(options, 0);
  pool.join(host_behind(kThere));
  const auto hanging = start_model(pool, options, "compile_hang");
  auto after = start_model(pool, options, "counted us=3");
  CHECK(latency_of(after) == 3);
  CHECK(hanging.wait_for(0s) == std::future_status::timeout);
}

TEST_CASE("what ends on another host by a crash or a deadline is modelled here") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  ModelPool pool(options, 1);
  const NamedFile crashed;
  pool.join(host_behind("env EVO_FAKE_ELSEWHERE=" + crashed.path.string()));
  for (int i = 0; !std::filesystem::exists(crashed.path); i += 8) {
    std::vector<std::future<ModelPool::Result>> results;
    for (int j = i; j < i + 8; ++j)
      results.push_back(start_model(pool, options, "counted crash_elsewhere us=" + std::to_string(j + 1)));
    for (int j = 0; j < 8; ++j) CHECK(latency_of(results[static_cast<std::size_t>(j)]) == i + j + 1);
  }
  CHECK(verdict_of_failure(start_model(pool, options, "compile_crash")) == Verdict::crashed);
  CHECK(pool.shares()[1].programs == 0);
  PipelineOptions impatient = options;
  impatient.compile_deadline_s = 0.3;
  ModelPool hanging(impatient, 1);
  hanging.join(host_behind(kThere));
  CHECK(verdict_of_failure(start_model(hanging, impatient, "compile_hang")) == Verdict::timed_out);
}

TEST_CASE("a host whose machine fails a program models nothing for now, and the program goes back") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  ModelPool pool(options, 0);
  pool.join(host_behind(kThere));
  auto first = start_model(pool, options, "counted us=2");
  CHECK(latency_of(first) == 2);
  // Nobody is left who could do it.
  const auto given_back = start_model(pool, options, "compile_break");
  notices.wait_for("node7 models nothing for now, others do its work: compiling: the compiler's disk is full");
  CHECK(given_back.wait_for(0s) == std::future_status::timeout);
}

TEST_CASE("a host whose connection ends in the middle costs no program, and models again") {
  Notices notices;
  PipelineOptions options = modelling_options(notices);
  options.return_s = 0.2;
  ModelPool pool(options, 1);
  pool.join(host_behind("sh -c '\"$0\" \"$@\" | (stdbuf -o0 head -c 6000; kill 0)'"));
  auto results = start_many(pool, options);
  check_many(results, pool);
  for (int more = 0; !notices.has("node7 models again"); ++more) {
    auto result = start_model(pool, options, "counted us=" + std::to_string(more + 1) + ' ' + std::string(300, 'y'));
    CHECK(latency_of(result) == more + 1);
  }
  CHECK_THAT(notices.said(), ContainsSubstring("node7 models nothing for now, others do its work: ") &&
                                 ContainsSubstring("the connection ended"));
}

namespace {

/// A host whose process tells its number.
struct HostToKill {
  Announcement number;
  OtherHost host = host_behind("sh -c 'echo $$ >" + number.path() + "; exec \"$0\" \"$@\"'");
  pid_t pid = 0;

  /// Its first process must already have been joined to a pool.
  void meet() { pid = std::stoi(number.wait()); }
  void kill() const { REQUIRE(::kill(pid, SIGKILL) == 0); }
};

}  // namespace

TEST_CASE("a host whose process is killed in the middle costs no program") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  HostToKill victim;
  ModelPool pool(options, 1);
  pool.join(victim.host);
  victim.meet();
  // It is at work from then on; killed before, it would only be started again.
  for (int i = 0; pool.shares()[1].programs == 0; ++i) {
    auto warm = start_model(pool, options, "counted us=1 " + std::to_string(i));
    CHECK(latency_of(warm) == 1);
  }
  auto results = start_many(pool, options);
  victim.kill();
  for (int i = 0; i < kPrograms; ++i) CHECK(latency_of(results[static_cast<std::size_t>(i)]) == i + 1);
  notices.wait_for("node7 models nothing for now");
  CHECK_THAT(notices.said(), ContainsSubstring("the connection ended"));
}

TEST_CASE("a host whose process is killed while it has nothing to do is missed, and works again later") {
  Notices notices;
  PipelineOptions options = modelling_options(notices);
  options.return_s = 0.1;
  HostToKill victim;
  const auto check = [&](auto& pool, const std::string& does, const auto& work) {
    pool.join(victim.host);
    victim.meet();
    work("before");  // Nobody else could do it.
    victim.kill();
    notices.wait_for("node7 " + does + " nothing for now, others do its work: ");
    victim.meet();
    notices.wait_for("node7 " + does + " again");
    work("after");
  };
  ModelPool models(options, 0);
  check(models, "models", [&](const std::string& when) {
    auto result = start_model(models, options, "counted us=2 " + when);
    CHECK(latency_of(result) == 2);
  });
  CompilePool compiles(options, 0, nullptr);
  check(compiles, "compiles", [&](const std::string& when) {
    const auto request = compile_request(program_of(options, "honest " + when), options.device.arch);
    CHECK(std::holds_alternative<Binary>(compiles.compile(request).get()));
  });
}

TEST_CASE("a host whose process is killed before it is ready is started again, and nothing is said") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  const NamedFile killed;
  ModelPool pool(options, 0);
  pool.join(host_behind("sh -c 'mkdir " + killed.path.string() + " 2>/dev/null && kill -9 $$; exec \"$0\" \"$@\"'"));
  auto result = start_model(pool, options, "counted us=2");
  CHECK(latency_of(result) == 2);
  CHECK(std::filesystem::exists(killed.path));
  CHECK(notices.said() == "");
}

TEST_CASE("a host with another compiler models nothing, and says so") {
  for (const auto& [build, complaint] :
       {std::pair("9.9", "node7 models nothing: NVRTC 9.9 is there, NVRTC 0.0 here; install the same one\n"),
        std::pair("0.0+2",
                  "node7 models nothing: NVRTC 0.0 is there, another build of NVRTC 0.0 here; install the "
                  "same one\n")}) {
    Notices notices;
    const PipelineOptions options = modelling_options(notices);
    ModelPool pool(options, 1);
    pool.join(host_behind(std::string("env EVO_FAKE_COMPILER=") + build));
    notices.wait_for(complaint);
    auto results = start_many(pool, options);
    check_many(results, pool);
    CHECK(pool.shares()[1].programs == 0);
  }
}

TEST_CASE("a host without the device models nothing for now, and says why") {
  Notices notices;
  PipelineOptions options = modelling_options(notices);
  options.device.id = "fake:7";
  ModelPool pool(options, 0);
  pool.join(host_behind(kThere));
  notices.wait_for("node7 models nothing for now, others do its work: fake:7: there is no such device");
}

TEST_CASE("destroying a model pool does not wait for other hosts") {
  Notices notices;
  const PipelineOptions options = modelling_options(notices);
  const Announcement begun;
  std::future<ModelPool::Result> hanging;
  {
    ModelPool pool(options, 0);
    pool.join(host_behind(kThere));
    pool.join({"asleep", "sleep 1000000 #", EVO_TEST_WORKER});
    hanging = start_model(pool, options, "compile_hang begun=" + begun.path());
    begun.wait();
  }
  CHECK_THROWS(hanging.get());
  CHECK(no_children_left());
}

TEST_CASE("a pool that only judges starts a compiler with the first program that it does not have") {
  Notices notices;
  PipelineOptions options = modelling_options(notices);
  options.only_judging = true;
  const auto request = [&](const char* source) {
    return compile_request(program_of(options, source), options.device.arch);
  };
  options.binaries->keep(request("honest"), Binary{});
  CompilePool pool(options, 1, nullptr);
  pool.wait_until_open();
  CHECK(std::holds_alternative<Binary>(pool.compile(request("honest")).get()));
  CHECK(no_children_left());
  CHECK(std::holds_alternative<Binary>(pool.compile(request("counted us=1 0")).get()));
}
