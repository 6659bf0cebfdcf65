#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>
#include <variant>

#include "evaluator/worker/process.h"
#include "toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Far more than a healthy worker needs. Only workers that hang on purpose get the short deadline.
constexpr double kDeadline = 30;
constexpr double kShortWorkerDeadline = 0.3;

WorkerOptions rogue(const std::string& mode) {
  return {{EVO_TEST_WORKER, mode}, kDeadline, nullptr};
}

WorkerOptions fake_compile_worker() {
  return {{EVO_TEST_WORKER, "fake", "compile", "cuda"}, kDeadline, nullptr};
}

protocol::Compile honest() {
  return {"honest", "sm_90a", 0};
}

Lost lost_to(const std::string& mode, double deadline = kDeadline) {
  WorkerClient worker(rogue(mode));
  auto answer = worker.call(protocol::Unload{1}, deadline);
  REQUIRE(std::holds_alternative<Lost>(answer));
  CHECK(!worker.running());
  return std::get<Lost>(answer);
}

}  // namespace

TEST_CASE("a worker with several requests in flight answers in order") {
  WorkerClient worker(fake_compile_worker());
  worker.send(honest());
  worker.send(protocol::Compile{"compile_error", "sm_90a", 0});
  worker.send(honest());
  auto first = worker.receive(kDeadline, protocol::kMaxProgramBytes),
       second = worker.receive(kDeadline, protocol::kMaxProgramBytes),
       third = worker.receive(kDeadline, protocol::kMaxProgramBytes);
  CHECK(std::holds_alternative<protocol::Compiled>(std::get<protocol::Reply>(first)));
  CHECK(std::holds_alternative<protocol::Failed>(std::get<protocol::Reply>(second)));
  CHECK(std::holds_alternative<protocol::Compiled>(std::get<protocol::Reply>(third)));
  CHECK(worker.starts() == 1);
  CHECK(worker.opened() == "NVRTC 0.0");
}

TEST_CASE("an invalid answer ends the worker and is never accepted") {
  for (const char* mode : {"garbage", "wrong_id", "huge", "starts_twice", "answers_at_once", "not_cbor"}) {
    INFO(mode);
    const Lost lost = lost_to(mode);
    CHECK(lost.how == Lost::How::protocol);
    CHECK(!lost.blameless);
    CHECK(!lost.reason.empty());
  }
  CHECK(no_children_left());
}

TEST_CASE("a request is blamed for the worker's death only if the worker had begun it") {
  CHECK(lost_to("dies_before_start").blameless);
  const Lost silent = lost_to("exits_silently");
  CHECK(silent.how == Lost::How::crashed);
  CHECK(!silent.blameless);
  CHECK(silent.reason == "exited with code 0");
}

TEST_CASE("of several requests on their way the one that the worker had begun is blamed for its death") {
  WorkerClient worker({{EVO_TEST_WORKER, "fake", "device", "fake:0"}, kDeadline, nullptr});
  Plan plan;
  for (const char* name : {"a", "b", "c"}) {
    PlanTensor& tensor = plan.tensors.emplace_back();
    tensor.name = name;
    tensor.bytes = 16;
    tensor.output = true;
  }
  const auto load = [&](std::uint64_t module, const char* source) {
    Binary binary;
    binary.arch = "sm_90a";
    binary.ptx = source;
    CHECK(std::holds_alternative<protocol::Done>(
        worker.ask<protocol::Done>(protocol::Load{module, binary, {{"any", plan}}}, kDeadline)));
  };
  const auto run = [&](std::uint64_t module) { worker.send(protocol::Run{module, "any", CaseRecipe{}, 1}); };
  const auto received = [&] { return worker.receive(kDeadline, protocol::output_bytes(plan)); };
  for (int i = 0; i < 20; ++i) {
    load(1, "honest");
    load(2, "crash");
    // The case is known from the second on: such requests begin with the answer to the one before.
    run(1);
    CHECK(std::holds_alternative<protocol::Reply>(received()));
    for (const std::uint64_t module : {1, 1, 2, 1}) run(module);
    CHECK(std::holds_alternative<protocol::Reply>(received()));
    CHECK(std::holds_alternative<protocol::Reply>(received()));
    const auto crashed = received(), behind = received();
    CHECK(verdict_of(std::get<Lost>(crashed)) == Verdict::crashed);
    CHECK(std::get<Lost>(behind).blameless);
  }
}

TEST_CASE("frames that are sent together arrive one after another, and the next is known to be there") {
  SocketPair sockets = make_socket_pair();
  Channel ours(std::move(sockets.ours), UniqueFd(), nullptr), theirs(std::move(sockets.theirs), UniqueFd(), nullptr);
  constexpr std::size_t kMany = 4 << 20;  // More than a socket holds.
  const std::vector<protocol::Frame> sent = {
      {{1, 2, 3}, {}}, {{4}, std::vector<std::byte>(kMany, std::byte{7})}, {{5, 6}, {}}, {{}, {std::byte{8}}}};
  std::thread sender([&] { CHECK(ours.send(sent, std::nullopt) == TransferEnd::complete); });
  for (std::size_t i = 0; i < sent.size(); ++i) {
    protocol::Frame frame;
    REQUIRE(theirs.receive(frame, std::nullopt, kMany) == TransferEnd::complete);
    CHECK(frame.control == sent[i].control);
    CHECK(frame.payload == sent[i].payload);
  }
  sender.join();
  CHECK(!theirs.has_frame(kMany));

  const std::vector<protocol::Frame> small = {sent[0], sent[2]};
  REQUIRE(ours.send(small, std::nullopt) == TransferEnd::complete);
  protocol::Frame frame;
  REQUIRE(theirs.receive(frame, std::nullopt, 0) == TransferEnd::complete);
  CHECK(theirs.has_frame(0));
  const WakeSignal nobody;
  CHECK(theirs.wait(nobody, Clock::now()) == TransferEnd::complete);
  REQUIRE(theirs.receive(frame, std::nullopt, 0) == TransferEnd::complete);
  CHECK(frame.control == sent[2].control);
  CHECK(!theirs.has_frame(0));
  CHECK(theirs.wait(nobody, Clock::now()) == TransferEnd::deadline);
}

TEST_CASE("a crash is reported with its signal and the last text on stderr") {
  const Lost lost = lost_to("says_why");
  CHECK(lost.how == Lost::How::crashed);
  CHECK(lost.reason == "killed by SIGABRT: assertion failed: tile > 0");
}

TEST_CASE("a worker that hangs, even in the middle of an answer, is killed at its deadline") {
  for (const char* mode : {"hangs", "half_a_frame"}) {
    INFO(mode);
    const Lost lost = lost_to(mode, kShortWorkerDeadline);
    CHECK(lost.how == Lost::How::timed_out);
    CHECK(!lost.blameless);
  }
  CHECK(no_children_left());
}

TEST_CASE("a worker that somebody has stopped is lost at its deadline, and its request not blamed") {
  const Lost lost = lost_to("stops", kShortWorkerDeadline);
  CHECK(lost.blameless);
  CHECK_THAT(lost.reason, ContainsSubstring("was stopped by somebody"));
  CHECK(verdict_of(lost) == Verdict::harness_failed);
}

TEST_CASE("a worker that computes and got no time of a CPU by its deadline is not to blame") {
  WorkerOptions options = rogue("hangs");
  options.computes = true;
  WorkerClient worker(options);
  const auto answer = worker.call(protocol::Unload{1}, kShortWorkerDeadline);
  REQUIRE(std::holds_alternative<Lost>(answer));
  CHECK(std::get<Lost>(answer).blameless);
  CHECK_THAT(std::get<Lost>(answer).reason, ContainsSubstring("the machine is too busy"));
}

TEST_CASE("the header of a frame does not extend the deadline for what it promises") {
  SocketPair sockets = make_socket_pair();
  Channel ours(std::move(sockets.ours), UniqueFd(), nullptr);
  constexpr std::uint64_t kPromised = 300 << 20;  // Five minutes on a slow line.
  const auto header = protocol::encode_header({0, kPromised});
  REQUIRE(::write(sockets.theirs.get(), header.data(), header.size()) == static_cast<ssize_t>(header.size()));
  const Clock::time_point begun = Clock::now();
  protocol::Frame frame;
  CHECK(ours.receive(frame, begun, kPromised) == TransferEnd::deadline);
  CHECK(Clock::now() - begun < std::chrono::minutes(3));
}

TEST_CASE("a worker that does not get a request's inputs ready is killed, and the candidate not blamed") {
  WorkerOptions options = rogue("never_starts");
  options.ready_deadline_s = kShortWorkerDeadline;
  WorkerClient worker(options);
  const auto answer = worker.call(protocol::Unload{1}, kShortWorkerDeadline / 2);
  REQUIRE(std::holds_alternative<Lost>(answer));
  CHECK(std::get<Lost>(answer).reason == "its inputs were not ready within 0.3 s");
  CHECK(verdict_of(std::get<Lost>(answer)) == Verdict::harness_failed);
}

TEST_CASE("a device worker draws the inputs of a request before it begins with it") {
  WorkerClient worker({{EVO_TEST_WORKER, "real", "device", "vgpu:h200"}, kDeadline, nullptr});
  protocol::Run unloaded{99, "any", CaseRecipe{}, 1};
  CHECK(std::get<protocol::Broken>(worker.ask<protocol::Ran>(unloaded, kDeadline)).message ==
        "module 99 is not loaded");
  InputRecipe input;
  input.name = "table";
  input.elements = 2;
  input.draw = DrawKind::file;
  input.content = "abc";
  unloaded.recipe->inputs = {input};
  CHECK_THAT(std::get<protocol::Broken>(worker.ask<protocol::Ran>(unloaded, kDeadline)).message,
             ContainsSubstring("input table: its file has 3 bytes"));
}

TEST_CASE("a case is drawn again from the recipe that a worker has had, and by a new worker") {
  WorkerClient worker({{EVO_TEST_WORKER, "real", "device", "vgpu:h200"}, kDeadline, nullptr});
  InputRecipe input;
  input.name = "table";
  input.elements = 2;
  input.draw = DrawKind::file;
  input.content = "abc";
  protocol::Run run{99, "any", CaseRecipe{}, 1};
  run.recipe->inputs = {input};
  for (int i = 0; i < 3; ++i) {
    if (i == 2) worker.stop();
    CHECK_THAT(std::get<protocol::Broken>(worker.ask<protocol::Ran>(run, kDeadline)).message,
               ContainsSubstring("input table: its file has 3 bytes"));
  }
}

TEST_CASE("a worker that fills its stderr does not block") {
  WorkerClient worker(rogue("floods_stderr"));
  const auto answer = worker.call(protocol::Unload{1}, kDeadline);
  CHECK(std::holds_alternative<protocol::Reply>(answer));
}

TEST_CASE("after a loss the next request gets a new worker") {
  WorkerClient worker(fake_compile_worker());
  CHECK(std::holds_alternative<Lost>(worker.call(protocol::Compile{"compile_crash", "sm_90a", 0}, kDeadline)));
  CHECK(std::holds_alternative<protocol::Reply>(worker.call(honest(), kDeadline)));
  CHECK(worker.starts() == 2);
}

TEST_CASE("a worker that dies between two requests costs only a restart") {
  WorkerClient worker(rogue("answers_once"));
  REQUIRE(std::holds_alternative<protocol::Reply>(worker.call(honest(), kDeadline)));
  const auto answer = worker.call(honest(), kDeadline);
  REQUIRE(std::holds_alternative<Lost>(answer));
  CHECK(std::get<Lost>(answer).blameless);
  CHECK(std::holds_alternative<protocol::Reply>(worker.call(honest(), kDeadline)));
}

TEST_CASE("a worker that died while it had nothing to do is started again before further work") {
  WorkerClient worker(fake_compile_worker());
  REQUIRE(std::holds_alternative<protocol::Reply>(worker.call(honest(), kDeadline)));
  worker.start();
  CHECK(worker.starts() == 1);
  kill_children();
  worker.start();
  CHECK(std::holds_alternative<protocol::Reply>(worker.call(honest(), kDeadline)));
  CHECK(worker.starts() == 2);
}

TEST_CASE("a worker that cannot open its device reports the reason") {
  WorkerClient worker(rogue("broken"));
  CHECK_THROWS_WITH(worker.send(honest()), "no such device on this machine");
  CHECK(no_children_left());
}

TEST_CASE("a worker that does not start is abandoned after a few attempts, with the reason") {
  WorkerClient dying(rogue("dies_at_start"));
  CHECK_THROWS_WITH(dying.send(honest()), ContainsSubstring("SIGABRT"));
  WorkerOptions silent = rogue("never_ready");
  silent.start_deadline_s = kShortWorkerDeadline;
  WorkerClient sleeping(silent);
  CHECK_THROWS_WITH(sleeping.send(honest()), ContainsSubstring("no answer within"));
  WorkerClient missing({{"/nonexistent/evo"}, kDeadline, nullptr});
  CHECK_THROWS_WITH(missing.send(honest()), ContainsSubstring("/nonexistent/evo"));
  CHECK(no_children_left());
}

TEST_CASE("a raised stop signal ends a wait at once") {
  StopSignal stop;
  WorkerOptions options = rogue("hangs");
  options.stop = &stop;
  WorkerClient worker(options);
  worker.send(protocol::Unload{1});
  std::thread other([&] { stop.raise(); });
  CHECK_THROWS_AS(worker.receive(kDeadline, 0), Stopped);
  other.join();
  CHECK(no_children_left());
}

namespace {

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// Loses one worker after another in the middle of its work.
void restart(int times) {
  const std::size_t files = open_files();
  {
    WorkerClient worker(fake_compile_worker());
    for (int i = 0; i < times; ++i) {
      REQUIRE(std::holds_alternative<Lost>(worker.call(protocol::Compile{"compile_crash", "sm_90a", 0}, kDeadline)));
    }
    REQUIRE(std::holds_alternative<protocol::Reply>(worker.call(honest(), kDeadline)));
    CHECK(worker.starts() == times + 1);
  }
  CHECK(no_children_left());
  CHECK(open_files() == files);
}

}  // namespace

TEST_CASE("restarts leave no zombie and no open file") {
  restart(50);
}

TEST_CASE("a thousand restarts leave no zombie and no open file", "[.][storm]") {
  restart(1000);
}

TEST_CASE("a client that goes out of scope leaves no process behind") {
  { WorkerClient(rogue("hangs")).send(protocol::Unload{1}); }
  CHECK(no_children_left());
}

TEST_CASE("a worker dies with its parent") {
  check_ends_with_parent(rogue("hangs"), protocol::Unload{1});
}

TEST_CASE("answers in any order belong to requests that were made and begun, or the worker is lost") {
  const WakeSignal never;
  for (const char* mode : {"wrong_id", "starts_twice", "answers_at_once", "not_cbor"}) {
    INFO(mode);
    WorkerClient worker(rogue(mode));
    worker.send(protocol::Unload{1});
    const auto answer = worker.receive_any(never, kDeadline);
    REQUIRE(answer);
    REQUIRE(std::holds_alternative<Lost>(*answer));
    CHECK(std::get<Lost>(*answer).how == Lost::How::protocol);
  }
  WorkerClient hangs(rogue("hangs")), ends(rogue("exits_silently"));
  hangs.send(protocol::Unload{1});
  CHECK(std::get<Lost>(*hangs.receive_any(never, kShortWorkerDeadline)).how == Lost::How::timed_out);
  ends.send(protocol::Unload{1});
  CHECK(std::get<Lost>(*ends.receive_any(never, kDeadline)).how == Lost::How::crashed);
}

TEST_CASE("a wait for any answer ends when it is woken, as often as that happens") {
  WakeSignal wake;
  WorkerClient worker(rogue("hangs"));
  worker.send(protocol::Unload{1});
  for (int i = 0; i < 2; ++i) {
    wake.raise();
    CHECK_FALSE(worker.receive_any(wake, kDeadline));
    wake.clear();
  }
  CHECK(worker.running());
  CHECK(worker.pending() == 1);
}
