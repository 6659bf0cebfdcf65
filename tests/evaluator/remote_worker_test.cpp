// Workers behind a command: what passes bytes on, and what breaks.
#include <unistd.h>

#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <fstream>
#include <iterator>
#include <utility>
#include <variant>

#include "evaluator/worker/device_facts.h"
#include "evaluator/worker/prefix_command.h"
#include "evaluator/worker/remote_link.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

constexpr double kPatient = 60;
constexpr double kShortLease = 1;

/// Runs its arguments as they are.
const std::string kPlain = "sh -c 'exec \"$0\" \"$@\"'";
/// Standard output is a pipe.
const std::string kPiped = "sh -c '\"$0\" \"$@\" | cat'";
/// Only whole lines come through at once, as with srun.
const std::string kInLines = "sh -c '\"$0\" \"$@\" | sed -u p -n'";

WorkerOptions behind(const std::string& prefix, double lease_s = kPatient,
                     const std::string& program = EVO_TEST_WORKER) {
  std::vector<std::string> command = {EVO_TEST_WORKER, "fake"};
  for (std::string& word : near_end_arguments({prefix, program, lease_s}, {"fake", "compile", "cuda"}))
    command.push_back(std::move(word));
  return {command, kPatient, nullptr};
}

protocol::Compile source(const std::string& text) {
  return {text, "sm_90a", 0};
}

std::string complaint_of_start(const WorkerOptions& options) {
  WorkerClient worker(options);
  try {
    worker.start();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

PipelineOptions remote_options(const std::string& prefix) {
  PipelineOptions options = toy_options();
  options.device.reached_by = prefix;
  options.device.program = EVO_TEST_WORKER;
  options.device.host = "elsewhere";
  return options;
}

/// A file of its own, removed at the end.
struct ScratchFile {
  std::string path = (std::filesystem::temp_directory_path() / ("evo_remote_" + std::to_string(::getpid()))).string();
  ~ScratchFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("a worker behind a command answers as one here, and its bytes come through unchanged", "[long]") {
  for (const std::string& prefix : {std::string(), kPlain, kPiped, kInLines}) {
    INFO(prefix);
    const PipelineOptions options = remote_options(prefix);
    const auto pipeline = make_pipeline(options);
    const auto evaluations =
        evaluate_all(*pipeline, {toy_candidate(options, "honest us=7"), toy_candidate(options, "last_wrong")});
    CHECK(evaluations[0].verdict == Verdict::valid);
    CHECK_THAT(evaluations[0].latency_us, WithinRel(7.0, 1e-9));
    CHECK(evaluations[0].ran_on.host == "elsewhere");
    CHECK(evaluations[1].verdict == Verdict::wrong_answer);
  }
  CHECK(no_children_left());
}

TEST_CASE("a command that holds bytes back until more come does not hold an answer back") {
  constexpr double kLongLease = 1000, kSoon = 200;  // A quarter of the lease is longer.
  WorkerClient worker(behind("sh -c '\"$0\" \"$@\" | dd ibs=1 obs=64 status=none'", kLongLease));
  CHECK(std::holds_alternative<protocol::Reply>(worker.call(source("honest"), kSoon)));
}

TEST_CASE("a worker that crashes behind a command is the candidate's fault, with the signal") {
  WorkerClient worker(behind(kPiped));
  const auto answer = worker.call(source("compile_crash"), kPatient);
  REQUIRE(std::holds_alternative<Lost>(answer));
  CHECK(std::get<Lost>(answer).how == Lost::How::crashed);
  CHECK_FALSE(std::get<Lost>(answer).blameless);
  CHECK_THAT(std::get<Lost>(answer).reason, ContainsSubstring("SIGSEGV"));
  CHECK(std::holds_alternative<protocol::Reply>(worker.call(source("honest"), kPatient)));
}

TEST_CASE("a connection that ends blames no candidate") {
  // Enough for the start and for some signs of life, not for the answer.
  WorkerClient worker(behind("sh -c '\"$0\" \"$@\" | stdbuf -o0 head -c 700'"));
  const auto answer = worker.call(source("compile_error " + std::string(100, 'x')), kPatient);
  const auto again = worker.call(source("honest " + std::string(20000, 'x')), kPatient);
  REQUIRE((std::holds_alternative<Lost>(answer) || std::holds_alternative<Lost>(again)));
  const Lost& lost = std::holds_alternative<Lost>(answer) ? std::get<Lost>(answer) : std::get<Lost>(again);
  CHECK(lost.blameless);
  CHECK_THAT(lost.reason, ContainsSubstring("the connection ended"));
}

TEST_CASE("bytes that are changed on their way are noticed") {
  CHECK_THAT(complaint_of_start(behind("sh -c '\"$0\" \"$@\" | stdbuf -o0 tr a b'")),
             ContainsSubstring("a frame that is changed"));
  CHECK_THAT(complaint_of_start(behind("echo welcome to this host #")),
             ContainsSubstring("something else than frames"));
}

TEST_CASE("a host that hangs is given up after a lease", "[long]") {
  CHECK_THAT(complaint_of_start(behind("sleep 1000 #", kShortLease)), ContainsSubstring("no sign of life for 1 s"));
  WorkerClient worker(behind("sh -c '\"$0\" \"$@\" | (stdbuf -o0 head -c 1500; sleep 1000)'", kShortLease));
  const auto answer = worker.call(source("honest " + std::string(20000, 'x')), kPatient);
  REQUIRE(std::holds_alternative<Lost>(answer));
  CHECK(std::get<Lost>(answer).blameless);
  CHECK_THAT(std::get<Lost>(answer).reason, ContainsSubstring("no sign of life"));
}

TEST_CASE("a worker that works longer than a lease is not given up", "[long]") {
  constexpr double kLease = 3;  // A busy machine may keep a process from its core for a second.
  WorkerClient worker(behind(kPlain, kLease));
  const auto answer = worker.call(source("compile_hang"), 2 * kLease);
  REQUIRE(std::holds_alternative<Lost>(answer));
  CHECK(std::get<Lost>(answer).how == Lost::How::timed_out);
}

TEST_CASE("answers of an earlier session are not accepted") {
  const ScratchFile recorded;
  {
    WorkerClient worker(behind("sh -c '\"$0\" \"$@\" | tee " + recorded.path + "'"));
    CHECK(std::holds_alternative<protocol::Reply>(worker.call(source("honest"), kPatient)));
  }
  CHECK_THAT(complaint_of_start(behind("cat " + recorded.path + " #")), ContainsSubstring("another session"));
}

TEST_CASE("another program on the other host is refused") {
  const ScratchFile other;
  std::filesystem::copy_file(EVO_TEST_WORKER, other.path);
  std::ofstream(other.path, std::ios::app) << "x";
  CHECK_THAT(complaint_of_start(behind(kPlain, kPatient, other.path)), ContainsSubstring("its program is another one"));
}

TEST_CASE("what the command says of its failure is said") {
  CHECK_THAT(complaint_of_start(behind("sh -c 'echo no route to host >&2; exit 255'")),
             ContainsSubstring("the connection ended: no route to host"));
}

TEST_CASE("with its parent everything behind a command ends") {
  check_ends_with_parent(behind(kPiped), source("compile_hang"));
}

TEST_CASE("a host that keeps losing its link is set aside, and nothing is lost") {
  PipelineOptions options = toy_options();
  options.further_devices = {options.device};
  options.further_devices[0].reached_by = "sh -c '\"$0\" \"$@\" | stdbuf -o0 head -c 3000'";
  options.further_devices[0].program = EVO_TEST_WORKER;
  options.further_devices[0].host = "frail";
  Notices notices;
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  const auto set_aside = [&] { return notices.has("fake:0 on frail is set aside"); };
  for (int evaluated = 0; !set_aside(); ++evaluated) {
    pipeline->submit(0, toy_candidate(options, "honest us=4 a" + std::to_string(evaluated)));
    pipeline->submit(1, toy_candidate(options, "honest us=4 b" + std::to_string(evaluated)));
    for (int i = 0; i < 2; ++i) CHECK(pipeline->wait().evaluation.verdict == Verdict::valid);
  }
  CHECK(evaluate_one(*pipeline, toy_candidate(options, "honest us=9")).verdict == Verdict::valid);
}

TEST_CASE("a host that is gone when the pipeline starts is set aside, a device of this host must be there") {
  PipelineOptions options = toy_options();
  options.further_devices = {options.device};
  options.further_devices[0].reached_by = "false";
  options.further_devices[0].program = EVO_TEST_WORKER;
  options.further_devices[0].host = "gone";
  CHECK(evaluate_one(*make_pipeline(options), toy_candidate(options, "honest")).verdict == Verdict::valid);
  std::swap(options.device, options.further_devices[0]);
  CHECK(evaluate_one(*make_pipeline(options), toy_candidate(options, "honest")).verdict == Verdict::valid);
  options.further_devices.clear();
  CHECK_THROWS_WITH(make_pipeline(options), ContainsSubstring("the connection ended"));
}

TEST_CASE("a host that comes back gets work again") {
  const ScratchFile down;
  PipelineOptions options = toy_options();
  options.further_devices = {options.device};
  options.further_devices[0].reached_by =
      "sh -c 'test ! -e " + down.path + " || exit 1; \"$0\" \"$@\" | (stdbuf -o0 head -c 3000; kill 0)'";
  options.further_devices[0].program = EVO_TEST_WORKER;
  options.further_devices[0].host = "frail";
  options.return_s = 0.5;
  Notices notices;
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  int evaluated = 0;
  const auto evaluate_until = [&](const std::string& line) {
    for (; !notices.has(line); ++evaluated) {
      pipeline->submit(0, toy_candidate(options, "honest us=4 a" + std::to_string(evaluated)));
      pipeline->submit(1, toy_candidate(options, "honest us=4 b" + std::to_string(evaluated)));
      for (int i = 0; i < 2; ++i) CHECK(pipeline->wait().evaluation.verdict == Verdict::valid);
    }
  };
  std::ofstream(down.path) << "";
  evaluate_until("fake:0 on frail is set aside");
  std::filesystem::remove(down.path);
  evaluate_until("fake:0 on frail is back");
  notices.forget();
  evaluate_until("its candidate runs again");  // It works, until its next connection ends.
}

TEST_CASE("devices survive the way from one host to another, and anything else is refused") {
  DeviceInfo device = toy_options().device;
  device.uuid = "GPU-7";
  device.driver = "580.1";
  const std::vector<DeviceInfo> back = devices_from_json(devices_to_json({device}));
  REQUIRE(back.size() == 1);
  CHECK(back[0].id == device.id);
  CHECK(back[0].uuid == "GPU-7");
  CHECK(back[0].limits.smem_per_sm_bytes == device.limits.smem_per_sm_bytes);
  CHECK(back[0].launch_floor_us == device.launch_floor_us);
  for (const char* text : {"", "[{}]", "[{\"id\": 3}]", "nonsense"}) CHECK_THROWS_AS(devices_from_json(text), Error);
}

TEST_CASE("a command behind a prefix gives its output, or what went wrong") {
  CHECK(run_behind("", {"echo", "one", "two"}, "", kPatient).said == "one two\n");
  CHECK(run_behind(kPlain, {"cat"}, "/proc/self/comm", kPatient).done);
  const CommandResult failed = run_behind("sh -c 'echo because >&2; exit 3' #", {"x"}, "", kPatient);
  CHECK_FALSE(failed.done);
  CHECK(failed.complaint == "because");
  CHECK(run_behind("sh -c 'exit 3' #", {"x"}, "", kPatient).complaint == "exit code 3");
  CHECK_THAT(run_behind("sleep 1000 #", {"x"}, "", 0.2).complaint, ContainsSubstring("no answer within 0.2 s"));
  CHECK(no_children_left());
}
