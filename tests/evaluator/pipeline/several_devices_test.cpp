// A pipeline with several devices.
#include <unistd.h>

#include <atomic>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include "evaluator/judge/oracle.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

PipelineOptions options_of(int devices) {
  PipelineOptions options = toy_options();
  for (int i = 1; i < devices; ++i) {
    options.further_devices.push_back(options.device);
    options.further_devices.back().id = "fake:" + std::to_string(i);
    options.further_devices.back().uuid = "GPU-" + std::to_string(i);
  }
  return options;
}

std::vector<Candidate> candidates_of(const PipelineOptions& options, const std::vector<std::string>& sources) {
  std::vector<Candidate> candidates;
  for (const std::string& source : sources) candidates.push_back(toy_candidate(options, source));
  return candidates;
}

/// Submits all at once.
std::map<std::uint64_t, Evaluation> evaluate_together(DevicePipeline& pipeline,
                                                      const std::vector<Candidate>& candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) pipeline.submit(i, candidates[i]);
  std::map<std::uint64_t, Evaluation> evaluations;
  while (evaluations.size() < candidates.size()) {
    Evaluator::Done done = pipeline.wait();
    CHECK(evaluations.emplace(done.ticket, std::move(done.evaluation)).second);  // None comes twice.
  }
  return evaluations;
}

/// Evaluates candidates until so many devices have had one: work goes to the device that is free, so with many
/// candidates each is free at some time. Every result must be valid and say where it comes from.
std::set<std::string> devices_that_evaluate(DevicePipeline& pipeline, const PipelineOptions& options,
                                            std::size_t wanted) {
  std::set<std::string> devices;
  for (int round = 0; round < 50 && devices.size() < wanted; ++round) {
    std::vector<std::string> sources;
    for (int i = 0; i < 30; ++i) sources.push_back("honest us=5 " + std::to_string(100 * round + i));
    for (const auto& [ticket, evaluation] : evaluate_together(pipeline, candidates_of(options, sources))) {
      CHECK(evaluation.verdict == Verdict::valid);
      CHECK_FALSE(evaluation.ran_on.host.empty());
      CHECK(evaluation.ran_on.uuid ==
            (evaluation.ran_on.device == "fake:0" ? "" : "GPU-" + evaluation.ran_on.device.substr(5)));
      devices.insert(evaluation.ran_on.device);
    }
  }
  return devices;
}

}  // namespace

TEST_CASE("candidates are evaluated on every device, and each result says where") {
  const PipelineOptions options = options_of(3);
  const auto pipeline = make_pipeline(options);
  CHECK(pipeline->width() > make_pipeline(options_of(1))->width());
  CHECK(devices_that_evaluate(*pipeline, options, 3) == std::set<std::string>{"fake:0", "fake:1", "fake:2"});
}

TEST_CASE("a device that joins takes candidates, and one that does not open costs nothing") {
  PipelineOptions options = options_of(1);
  Notices notices;
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  const std::vector<DeviceInfo> others = options_of(2).further_devices;
  pipeline->join(others[0]);
  DeviceInfo missing = others[0];
  missing.id = "fake:7";
  pipeline->join(missing);
  std::vector<std::string> ids;
  for (const DeviceInfo& device : pipeline->devices()) ids.push_back(device.id);
  CHECK(ids == std::vector<std::string>{"fake:0", "fake:1", "fake:7"});
  CHECK(devices_that_evaluate(*pipeline, options, 2) == std::set<std::string>{"fake:0", "fake:1"});
  const auto timings = pipeline->time_on_each(toy_candidate(options, "honest us=5 fake:1_takes=2"), 2);
  REQUIRE(timings.size() == 3);
  CHECK_THAT(timings[1].rounds_us[0].back() / timings[0].rounds_us[0].back(), WithinRel(2, 1e-9));
  CHECK(timings[2].failures[0]);
  CHECK_THAT(notices.said(), ContainsSubstring("fake:7") && ContainsSubstring("set aside"));
}

TEST_CASE("results do not depend on the number of devices, and of equal candidates the first is the original") {
  std::vector<std::string> sources;
  for (int i = 0; i < 24; ++i) {
    sources.push_back("honest us=" + std::to_string(3 + i) + " cubin=" + std::to_string(i % 8));
    if (i % 3 == 0) sources.push_back("zeros " + std::to_string(i % 6));
    if (i % 4 == 0) sources.push_back(sources[static_cast<std::size_t>(i) / 2]);
  }
  std::vector<std::map<std::uint64_t, Evaluation>> runs;
  for (const int devices : {1, 3}) {
    const PipelineOptions options = options_of(devices);
    runs.push_back(evaluate_together(*make_pipeline(options), candidates_of(options, sources)));
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CHECK(runs[0][i].verdict == runs[1][i].verdict);
    CHECK(runs[0][i].reason == runs[1][i].reason);
    CHECK(runs[0][i].latency_us == runs[1][i].latency_us);
  }
  CHECK(no_children_left());
}

TEST_CASE("a candidate whose machine fails runs on another device, and a device that keeps failing is set aside") {
  PipelineOptions options = options_of(2);
  Notices notices;
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  // Until the second device has had its five failures in a row.
  for (int i = 0; notices.said().empty(); ++i) {
    const Candidate candidate = toy_candidate(options, "honest us=4 break_on=fake:1 " + std::to_string(i));
    const auto evaluations = evaluate_together(
        *pipeline, {candidate, toy_candidate(options, "honest us=4 break_on=fake:1 b" + std::to_string(i))});
    for (const auto& [ticket, evaluation] : evaluations) {
      CHECK(evaluation.verdict == Verdict::valid);
      CHECK(evaluation.ran_on.device == "fake:0");
    }
  }
  CHECK_THAT(notices.said(), ContainsSubstring("fake:1 is set aside, its work goes to the other devices") &&
                                 ContainsSubstring("the cable fell out"));
  // The other one goes on, and is the last.
  CHECK(evaluate_one(*pipeline, toy_candidate(options, "honest us=9")).verdict == Verdict::valid);
  const auto fail_often = [&] {
    for (int i = 0; i < 10; ++i) evaluate_one(*pipeline, toy_candidate(options, "break " + std::to_string(i)));
  };
  CHECK_THROWS_AS(fail_often(), Error);
}

TEST_CASE("a device that fails its candidates more often than the others is set aside and named") {
  PipelineOptions options = options_of(3);
  Notices notices;
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  for (int round = 0; notices.said().empty(); ++round) {
    std::vector<std::string> sources;
    for (int i = 0; i < 30; ++i) {
      const std::string number = std::to_string(100 * round + i);
      sources.push_back(i % 5 == 0 ? "zeros " + number : "honest us=5 zeros_on=fake:1 " + number);
    }
    evaluate_together(*pipeline, candidates_of(options, sources));
  }
  CHECK_THAT(notices.said(), ContainsSubstring("fake:1 is set aside") && ContainsSubstring("it failed ") &&
                                 !ContainsSubstring("fake:0 is set aside") &&
                                 !ContainsSubstring("fake:2 is set aside"));
  const auto after =
      evaluate_together(*pipeline, candidates_of(options, {"honest zeros_on=fake:1 x", "honest zeros_on=fake:1 y"}));
  for (const auto& [ticket, evaluation] : after) CHECK(evaluation.verdict == Verdict::valid);
}

TEST_CASE("copies of a candidate that no machine could evaluate are evaluated themselves") {
  const PipelineOptions options = options_of(2);
  const auto pipeline = make_pipeline(options);
  const Candidate breaking = toy_candidate(options, "break"), other = toy_candidate(options, "honest us=3");
  const auto evaluations = evaluate_together(*pipeline, {breaking, breaking, other, other});
  CHECK(evaluations.at(0).verdict == Verdict::harness_failed);
  CHECK(evaluations.at(1).verdict == Verdict::harness_failed);
  CHECK(evaluations.at(2).verdict == Verdict::valid);
  CHECK(why(evaluations.at(3)) == "same source as proposal 2: valid");
}

TEST_CASE("a killed worker costs nothing, and is named") {
  PipelineOptions options = options_of(2);
  Notices notices;
  options.notice = notices.listener();
  const auto mark = std::filesystem::temp_directory_path() / ("evo_several_devices_test_" + std::to_string(::getpid()));
  std::filesystem::remove(mark);
  const auto pipeline = make_pipeline(options);
  const auto evaluations = evaluate_together(
      *pipeline, candidates_of(options, {"honest us=3", "honest us=4 kill_once mark=" + mark.string(), "honest us=5"}));
  std::filesystem::remove(mark);
  for (const auto& [ticket, evaluation] : evaluations) CHECK(evaluation.verdict == Verdict::valid);
  CHECK_THAT(notices.said(), ContainsSubstring("killed by SIGKILL") && ContainsSubstring("its candidate runs again"));
}

TEST_CASE("workers that die while they have nothing to do cost no candidate and no comparison, and are named") {
  PipelineOptions options = options_of(2);
  Notices notices;
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  const Candidate first = toy_candidate(options, "honest us=3"), second = toy_candidate(options, "honest us=6");
  for (const Candidate& candidate : {first, second}) {
    CHECK(evaluate_one(*pipeline, candidate).verdict == Verdict::valid);
    kill_children();
  }
  const InterleavedTimings timings = pipeline->time_interleaved({first, second}, 2);
  for (const auto& failure : timings.failures) CHECK(failure.value_or("") == "");
  CHECK_THAT(notices.said(), ContainsSubstring("the worker ended while it had nothing to do (killed by SIGKILL)"));
  CHECK_THAT(notices.said(), !ContainsSubstring("runs again"));
}

TEST_CASE("two candidates are compared on one device") {
  const PipelineOptions options = options_of(3);
  const auto pipeline = make_pipeline(options);
  // Each is twice as fast on a device of its own: only on one and the same they are equal.
  const std::string everywhere = " fake:0_takes=1 fake:1_takes=2 fake:2_takes=4";
  for (int i = 0; i < 6; ++i) {
    const InterleavedTimings timings = pipeline->time_interleaved(
        {toy_candidate(options, "honest us=10" + everywhere), toy_candidate(options, "honest us=10 b" + everywhere)},
        3);
    CHECK(timings.rounds_us[0] == timings.rounds_us[1]);
  }
}

TEST_CASE("a device that has nothing to do joins a comparison, with rounds of its own") {
  const PipelineOptions options = options_of(2);
  const auto pipeline = make_pipeline(options);
  const std::string everywhere = " fake:0_takes=1 fake:1_takes=2";
  const auto of_both = [](const InterleavedTimings& so_far) {
    const auto [least, most] = std::ranges::minmax(so_far.rounds_us[0]);
    return most > 1.5 * least;
  };
  constexpr int kMost = 100'000;
  const InterleavedTimings timings = pipeline->time_interleaved(
      {toy_candidate(options, "honest us=10" + everywhere), toy_candidate(options, "honest us=10 b" + everywhere)},
      kMost, of_both);
  CHECK(timings.rounds_us[0].size() < kMost);
  CHECK(of_both(timings));
  CHECK(timings.rounds_us[0] == timings.rounds_us[1]);  // Each pair is of one device.
}

TEST_CASE("rounds end where all devices together have done as many as are wanted") {
  const PipelineOptions options = options_of(3);
  const auto pipeline = make_pipeline(options);
  for (int i = 0; i < 6; ++i) {
    const InterleavedTimings timings =
        pipeline->time_interleaved({toy_candidate(options, "honest us=10"), toy_candidate(options, "honest us=11")}, 7);
    CHECK(timings.rounds_us[0].size() == 7);
    CHECK(timings.rounds_us[1].size() == 7);
  }
}

TEST_CASE("a pipeline says what its devices spent their time on") {
  const PipelineOptions options = options_of(2);
  const auto pipeline = make_pipeline(options);
  CHECK(pipeline->times().validation_s == 0);
  evaluate_together(*pipeline, candidates_of(options, {"honest us=3", "honest us=4", "honest us=5"}));
  const LaneTimes evaluated = pipeline->times();
  CHECK(evaluated.validation_s > 0);
  CHECK(evaluated.timing_s > 0);
  CHECK(evaluated.compiling_s > 0);
  CHECK(evaluated.comparison_s == 0);
  pipeline->time_interleaved({toy_candidate(options, "honest us=3"), toy_candidate(options, "honest us=4")}, 3);

  // A device may still be unloading when the result is there.
  LaneTimes in_a_while;
  for (int i = 0; i < 100 && (i == 0 || in_a_while.idle_s < in_a_while.total_s()); ++i) {
    const LaneTimes before = pipeline->times();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    in_a_while = pipeline->times().since(before);
  }
  CHECK(pipeline->times().comparison_s > 0);
  CHECK(in_a_while.idle_s == in_a_while.total_s());
  CHECK(in_a_while.idle_s > 1.5 * 0.1);  // Of two devices.
}

TEST_CASE("one candidate is timed on each device") {
  const PipelineOptions options = options_of(3);
  const auto pipeline = make_pipeline(options);
  const auto timings =
      pipeline->time_on_each(toy_candidate(options, "honest us=10 fake:1_takes=1.5 fake:2_takes=2"), 4);
  REQUIRE(timings.size() == 3);
  for (const auto& [device, us] : std::vector<std::pair<std::size_t, double>>{{0, 10}, {1, 15}, {2, 20}}) {
    REQUIRE(timings[device].rounds_us[0].size() == 4);
    for (const double found : timings[device].rounds_us[0]) CHECK_THAT(found, WithinRel(us, 1e-9));
  }
}

TEST_CASE("a device that does not open is reported before anything is submitted") {
  PipelineOptions options = options_of(2);
  options.further_devices[0].id = "fake:7";
  CHECK_THROWS_WITH(make_pipeline(options), ContainsSubstring("fake:7: there is no such device"));
  CHECK(no_children_left());
}

TEST_CASE("an oracle that one device computes is waited for by the others, and computed once") {
  KnownOracles known;
  std::promise<void> begun, may_end;
  const auto oracle = std::make_shared<const Expected>();
  auto first = std::async(std::launch::async, [&] {
    return known.get("case", [&] {
      begun.set_value();
      may_end.get_future().wait();
      return oracle;
    });
  });
  begun.get_future().wait();
  std::atomic<bool> computed_twice = false;
  auto second = std::async(std::launch::async, [&] {
    return known.get("case", [&] {
      computed_twice = true;
      return oracle;
    });
  });
  CHECK(second.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  CHECK(known.get("another case", [&] { return std::make_shared<const Expected>(1); })->size() == 1);
  may_end.set_value();
  CHECK(first.get() == oracle);
  CHECK(second.get() == oracle);
  CHECK(known.get("case", [&]() -> std::shared_ptr<const Expected> { throw std::logic_error("known"); }) == oracle);
  CHECK_FALSE(computed_twice);
}

TEST_CASE("an oracle that fails on one device is computed by another") {
  KnownOracles known;
  std::promise<void> begun, may_fail;
  auto first = std::async(std::launch::async, [&] {
    return known.get("case", [&]() -> std::shared_ptr<const Expected> {
      begun.set_value();
      may_fail.get_future().wait();
      throw std::runtime_error("the device is lost");
    });
  });
  begun.get_future().wait();
  const auto oracle = std::make_shared<const Expected>();
  auto second = std::async(std::launch::async, [&] { return known.get("case", [&] { return oracle; }); });
  may_fail.set_value();
  CHECK_THROWS_AS(first.get(), std::runtime_error);
  CHECK(second.get() == oracle);
}
