#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "evaluator/base/statistics.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Short, because hanging workers are waited for; long enough for a worker on a busy machine.
constexpr double kShortDeadline = 1.5;

Evaluation evaluation_of(const std::string& source, const PipelineOptions& options = toy_options()) {
  const auto pipeline = make_pipeline(options);
  return evaluate_one(*pipeline, toy_candidate(options, source));
}

void check_rejected(const std::string& source, Verdict verdict, const std::string& reason) {
  const Evaluation evaluation = evaluation_of(source);
  INFO(source << ": " << name_of(evaluation.verdict) << ": " << why(evaluation));
  CHECK(evaluation.verdict == verdict);
  CHECK_THAT(why(evaluation), ContainsSubstring(reason));
  CHECK(evaluation.latency_us == 0);
}

}  // namespace

TEST_CASE("an honest candidate is valid, with its errors, timings and builds") {
  const Evaluation evaluation = evaluation_of("honest us=12");
  INFO(why(evaluation));
  REQUIRE(evaluation.verdict == Verdict::valid);
  CHECK(evaluation.reason.empty());
  CHECK_THAT(evaluation.latency_us, Catch::Matchers::WithinRel(12.0, 1e-9));
  CHECK(evaluation.worst_relative_l2 == 0);
  CHECK(evaluation.salt == 42);
  REQUIRE(evaluation.builds.size() == 1);
  CHECK(evaluation.builds[0].largest().registers == 32);
  REQUIRE(evaluation.timings.size() == 2);
  CHECK(!evaluation.timings[0].cold);
  CHECK(evaluation.timings[1].cold);
  CHECK(evaluation.timings[0].shape == "large");
  // Three shapes x five regimes x three seeds; after each timing the outputs were the same, bit for bit.
  CHECK(evaluation.errors.size() == 3 * 5 * 3);
}

TEST_CASE("where candidates compete, cold launches are timed only of one that may be among the best three") {
  PipelineOptions options = toy_options();
  const auto cold_timings = [&] {
    const auto pipeline = make_pipeline(options);
    std::vector<std::size_t> timings;
    for (const char* source : {"honest us=10", "honest us=30", "honest us=20", "honest us=31", "honest us=29.9"})
      timings.push_back(evaluate_one(*pipeline, toy_candidate(options, source)).timings.size() - 1);
    return timings;
  };
  CHECK(cold_timings() == std::vector<std::size_t>{1, 1, 1, 1, 1});
  options.competing = true;
  CHECK(cold_timings() == std::vector<std::size_t>{1, 1, 1, 0, 1});
}

TEST_CASE("wrong answers of every kind are rejected") {
  check_rejected("zeros", Verdict::wrong_answer, "kind=relative_l2");
  check_rejected("mean", Verdict::wrong_answer, "kind=relative_l2");
  check_rejected("scaled", Verdict::wrong_answer, "kind=relative_l2");
  check_rejected("half", Verdict::wrong_answer, "kind=relative_l2");
  check_rejected("nan", Verdict::wrong_answer, "kind=not_finite");
  check_rejected("last_wrong", Verdict::wrong_answer, "output=c");
}

TEST_CASE("a kernel that writes nothing does not profit from an earlier answer in memory") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const auto evaluations = evaluate_all(*pipeline, {toy_candidate(options, "honest"), toy_candidate(options, "noop")});
  CHECK(evaluations[0].verdict == Verdict::valid);
  CHECK(evaluations[1].verdict == Verdict::wrong_answer);
  CHECK_THAT(why(evaluations[1]), ContainsSubstring("kind=not_finite"));
}

TEST_CASE("an answer remembered by the address of its input is wrong for the next input") {
  check_rejected("stale", Verdict::wrong_answer, "kind=relative_l2");
}

TEST_CASE("a changed input is detected even when the answer agrees with it") {
  check_rejected("mutate", Verdict::wrong_answer, "changed its input a");
}

TEST_CASE("writes outside of an output are detected") {
  check_rejected("overrun", Verdict::crashed, "behind c");
  check_rejected("underrun", Verdict::crashed, "before c");
}

TEST_CASE("writes outside of a workspace are detected, whether it is zeroed or not") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  for (const bool zeroed : {false, true}) {
    for (const auto& [source, where] :
         {std::pair("workspace_overrun", "behind partial"), {"workspace_underrun", "before partial"}}) {
      Candidate candidate = toy_candidate(options, source);
      for (auto& [shape, plan] : candidate.programs[0].plans) plan.workspaces = {{"partial", 1000, zeroed}};
      const Evaluation evaluation = evaluate_one(*pipeline, candidate);
      CHECK(evaluation.verdict == Verdict::crashed);
      CHECK_THAT(why(evaluation), ContainsSubstring(where));
    }
  }
}

TEST_CASE("answers that differ from run to run are rejected even if each is within the limits") {
  check_rejected("unstable", Verdict::unrepeatable, "differ in c");
}

TEST_CASE("a kernel that is right when checked and wrong when timed is rejected") {
  check_rejected("wrong_when_timed", Verdict::wrong_answer, "found=while_timed");
}

TEST_CASE("a kernel that returns early when its output looks finished is rejected after timing") {
  check_rejected("done_before", Verdict::wrong_answer, "found=after_timing");
}

TEST_CASE("the process that runs candidates holds no expected answer in memory") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const auto evaluations = evaluate_all(*pipeline, {toy_candidate(options, "honest"), toy_candidate(options, "thief")});
  INFO(why(evaluations[1]));
  CHECK(evaluations[1].verdict == Verdict::valid);  // It computes honestly if it finds nothing.
}

TEST_CASE("an error close to its limit is checked on seeds beyond the grid") {
  PipelineOptions options = toy_options();
  options.task.limits.max_abs = 0;  // Only the relative error is close to its limit.
  options.task.regimes.resize(2);   // Some cases of the other regimes have equal inputs.
  constexpr int kGrid = 3 * 2 * 3;
  const auto lucky = evaluation_of("near overfits=" + std::to_string(kGrid), options);
  INFO(why(lucky));
  CHECK(lucky.verdict == Verdict::wrong_answer);
  CHECK_THAT(why(lucky), ContainsSubstring("found=on_more_seeds"));
  const auto steady = evaluation_of("near", options);
  CHECK(steady.verdict == Verdict::valid);
  CHECK(steady.errors.size() > kGrid + 6);
  // Well below the limit no further seeds are checked, so the fault beyond the grid is not found.
  CHECK(evaluation_of("near error=0.0008 overfits=" + std::to_string(kGrid), options).verdict == Verdict::valid);
}

TEST_CASE("cases with more outputs are checked on fewer seeds beyond the grid", "[long]") {
  PipelineOptions options = toy_options();
  options.task.limits.max_abs = 0;
  options.task.regimes.resize(2);
  const auto seeds_beyond_grid = [&](std::int64_t outputs) {
    options.target.timed.front().parameters.at("N") = outputs;
    options.target.validated = options.target.timed;
    return evaluation_of("near", options).errors.size() - 3 * 2;
  };
  CHECK(seeds_beyond_grid(40'000) == 2 * 4);
  CHECK(seeds_beyond_grid(3'000'000) == 2 * 2);
  CHECK(seeds_beyond_grid(5'000'000) == 2 * 1);
}

TEST_CASE("an ill-conditioned draw, by the error of the emulation, is set aside and other seeds are checked") {
  PipelineOptions options = toy_options();
  options.task.regimes.resize(3);  // Sums of the flat one are a tenth as large: an offset gives ten times the error.
  const Evaluation before = evaluation_of("honest off=0.0005", options);
  CHECK(before.verdict == Verdict::wrong_answer);
  CHECK_THAT(why(before), ContainsSubstring("regime=flat"));

  options.tree["toy/limits.json"] =
      R"({"emulation": {"about": "sums are off", "edits": [{"find": "honest", "replace": "honest off=0.0001"}]}})";
  const Evaluation after = evaluation_of("honest off=0.0005", options);
  INFO(why(after));
  CHECK(after.verdict == Verdict::valid);
  CHECK(after.worst_relative_l2 <= options.task.limits.relative_l2);
  CHECK(std::ranges::none_of(after.errors, [](const CaseError& error) { return error.regime == "flat"; }));
  // A larger error than the emulation explains stays wrong.
  const Evaluation beyond = evaluation_of("honest off=0.002", options);
  CHECK(beyond.verdict == Verdict::wrong_answer);
  CHECK(evaluation_of("scaled", options).verdict == Verdict::wrong_answer);
  CHECK(evaluation_of("zeros", options).verdict == Verdict::wrong_answer);
}

TEST_CASE("after a draw was set aside, seeds beyond the grid are checked") {
  PipelineOptions options = toy_options();
  options.task.limits.max_abs = 0;
  options.task.regimes.resize(3);
  constexpr int kGrid = 3 * 3 * 3;
  options.tree["toy/limits.json"] =
      R"({"emulation": {"about": "off", "edits": [{"find": "honest", "replace": "near error=0.0009 off=0.0001"}]}})";
  // Only in the flat regime its error exceeds the limit, and there the emulation errs more than usual, too.
  const std::string source = "near error=0.0008 off=0.0001";
  const Evaluation steady = evaluation_of(source, options);
  INFO(why(steady));
  CHECK(steady.verdict == Verdict::valid);
  const Evaluation lucky = evaluation_of(source + " overfits=" + std::to_string(kGrid), options);
  CHECK(lucky.verdict == Verdict::wrong_answer);
  CHECK_THAT(why(lucky), ContainsSubstring("found=on_more_seeds"));
}

TEST_CASE("a limit that follows the emulation holds on each draw, whether it is ill-conditioned or not") {
  PipelineOptions options = toy_options();
  options.task.regimes.resize(3);  // Sums of the flat one are a tenth as large: an offset gives ten times the error.
  options.tree["toy/limits.json"] =
      R"({"emulation": {"about": "sums are off", "edits": [{"find": "honest", "replace": "honest off=0.0001"}]}})";
  Limits& limits = options.task.objectives.front().limits;
  limits.emulated_l2 = {.times = 1.5, .plus = 0};
  const Evaluation as_good = evaluation_of("honest off=0.00012", options);
  INFO(why(as_good));
  CHECK(as_good.verdict == Verdict::valid);
  CHECK(std::ranges::any_of(as_good.errors, [](const CaseError& error) { return error.regime == "flat"; }));
  // Far below the task's own limit.
  const Evaluation worse = evaluation_of("honest off=0.0002", options);
  CHECK(worse.verdict == Verdict::wrong_answer);
  CHECK_THAT(why(worse), ContainsSubstring("emulation_l2="));
  limits.emulated_l2.plus = 0.001;
  CHECK(evaluation_of("honest off=0.0002", options).verdict == Verdict::valid);
}

TEST_CASE("a row's limit that follows the emulation is held, too") {
  PipelineOptions options = toy_options();
  options.task.regimes.resize(1);
  options.tree["toy/limits.json"] =
      R"({"emulation": {"about": "near", "edits": [{"find": "honest", "replace": "near error=0.0002"}]}})";
  Limits& limits = options.task.objectives.front().limits;
  limits.emulated_l2 = {.times = 1.1, .plus = 0};
  CHECK(evaluation_of("near error=0.0002", options).verdict == Verdict::valid);
  CHECK(evaluation_of("near error=0.0003", options).verdict == Verdict::wrong_answer);
}

TEST_CASE("an emulation that is not finite where the reference is says so, and is no limit of 0") {
  PipelineOptions options = toy_options();
  options.tree["toy/limits.json"] =
      R"({"emulation": {"about": "divides by 0", "edits": [{"find": "honest", "replace": "nan"}]}})";
  options.task.objectives.front().limits.emulated_l2 = {.times = 1.5, .plus = 0};
  CHECK_THROWS_WITH(evaluation_of("honest", options),
                    ContainsSubstring("toy/limits.json: the emulation is not finite where the reference is, at shape"));
}

TEST_CASE("a time below the physical floor is a measurement error") {
  check_rejected("honest fast", Verdict::impossible_time, "cannot do it in less than");
}

TEST_CASE("a compiler error or crash is the candidate's verdict") {
  const Evaluation evaluation = evaluation_of("compile_error");
  CHECK(evaluation.verdict == Verdict::compile_failed);
  CHECK_THAT(why(evaluation), ContainsSubstring("error: compile_error"));
  REQUIRE(evaluation.builds.size() == 1);
  CHECK(evaluation.builds[0].log == "the log");
  check_rejected("compile_crash", Verdict::crashed, "SIGSEGV");
  check_rejected("honest spills", Verdict::over_resources, "spills");
}

TEST_CASE("a compiler that does not end is killed at its deadline") {
  PipelineOptions options = toy_options();
  options.compile_deadline_s = kShortDeadline;
  const auto pipeline = make_pipeline(options);
  const auto evaluations =
      evaluate_all(*pipeline, {toy_candidate(options, "compile_hang"), toy_candidate(options, "honest")});
  CHECK(evaluations[0].verdict == Verdict::timed_out);
  CHECK(evaluations[1].verdict == Verdict::valid);
}

TEST_CASE("a crash on the device is the candidate's verdict, with the signal") {
  check_rejected("crash", Verdict::crashed, "SIGSEGV");
  check_rejected("exit", Verdict::crashed, "exited with code 0");
  check_rejected("fault", Verdict::crashed, "trap");
  check_rejected("lost", Verdict::crashed, "illegal address");
  check_rejected("unsupported", Verdict::unsupported, "frobnicate");
}

TEST_CASE("a hanging kernel times out and does not affect the next candidate") {
  PipelineOptions options = toy_options();
  options.run_deadline_s = kShortDeadline;
  const auto pipeline = make_pipeline(options);
  const auto evaluations = evaluate_all(*pipeline, {toy_candidate(options, "hang"), toy_candidate(options, "honest")});
  CHECK(evaluations[0].verdict == Verdict::timed_out);
  CHECK_THAT(why(evaluations[0]), ContainsSubstring("no answer within"));
  CHECK(evaluations[1].verdict == Verdict::valid);
}

TEST_CASE("a candidate whose worker was killed from outside is tried once more") {
  const auto mark = std::filesystem::temp_directory_path() / ("evo_pipeline_test_" + std::to_string(::getpid()));
  std::filesystem::remove(mark);
  const Evaluation evaluation = evaluation_of("honest kill_once mark=" + mark.string());
  CHECK(std::filesystem::exists(mark));  // It was killed.
  CHECK(evaluation.verdict == Verdict::valid);
  std::filesystem::remove(mark);
}

TEST_CASE("a candidate whose worker was stopped from outside is tried once more", "[long]") {
  const auto mark = std::filesystem::temp_directory_path() / ("evo_pipeline_stop_" + std::to_string(::getpid()));
  std::filesystem::remove(mark);
  PipelineOptions options = toy_options();
  options.run_deadline_s = 15;  // The stopped worker costs it; the other one needs none of it.
  const Evaluation evaluation = evaluation_of("honest stop_once mark=" + mark.string(), options);
  CHECK(std::filesystem::exists(mark));  // It was stopped.
  CHECK(evaluation.verdict == Verdict::valid);
  CHECK(no_children_left());
  std::filesystem::remove(mark);
}

TEST_CASE("candidates that end their worker do not change the results of the others") {
  PipelineOptions options = toy_options();
  options.run_deadline_s = kShortDeadline;
  std::vector<Candidate> honest, mixed;
  const std::vector<std::string> bad = {"crash", "lost", "exit", "hang", "fault", "overrun", "compile_crash", "nan"};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    honest.push_back(toy_candidate(options, "honest us=" + std::to_string(10 + i)));
    mixed.push_back(toy_candidate(options, bad[i]));
    mixed.push_back(honest.back());
  }
  const auto alone = evaluate_all(*make_pipeline(options), honest);
  const auto among = evaluate_all(*make_pipeline(options), mixed);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    INFO(bad[i] << ": " << among[2 * i].reason);
    CHECK(among[2 * i].verdict != Verdict::valid);
    CHECK(among[2 * i].verdict != Verdict::harness_failed);
    CHECK(among[2 * i + 1].verdict == Verdict::valid);
    CHECK(among[2 * i + 1].latency_us == alone[i].latency_us);
    CHECK(among[2 * i + 1].errors.size() == alone[i].errors.size());
  }
  CHECK(no_children_left());
}

TEST_CASE("the second candidate with the same source is a duplicate with the first one's numbers") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const Candidate honest = toy_candidate(options, "honest us=7"), wrong = toy_candidate(options, "zeros");
  const auto evaluations = evaluate_all(*pipeline, {honest, wrong, honest, wrong});
  CHECK(evaluations[2].verdict == Verdict::duplicate);
  CHECK(why(evaluations[2]) == "same source as proposal 0: valid");
  CHECK(evaluations[2].latency_us == evaluations[0].latency_us);
  CHECK(evaluations[2].timings.size() == evaluations[0].timings.size());
  CHECK(evaluations[2].errors.empty());  // Only the original has them.
  CHECK(evaluations[3].verdict == Verdict::duplicate);
  CHECK_THAT(why(evaluations[3]), ContainsSubstring("same source as proposal 1: wrong_answer"));
  CHECK(evaluations[3].latency_us == 0);
}

TEST_CASE("two sources that compile to the same cubin are duplicates unless they are launched differently") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  Candidate other_launch = toy_candidate(options, "honest cubin=same third");
  for (auto& [shape, plan] : other_launch.programs[0].plans) plan.launches[0].block[0] = 256;
  const auto evaluations = evaluate_all(*pipeline, {toy_candidate(options, "honest cubin=same first"),
                                                    toy_candidate(options, "honest cubin=same second"), other_launch});
  CHECK(evaluations[0].verdict == Verdict::valid);
  CHECK(evaluations[1].verdict == Verdict::duplicate);
  CHECK_THAT(why(evaluations[1]), ContainsSubstring("same cubin as proposal 0"));
  CHECK(evaluations[2].verdict == Verdict::valid);
}

TEST_CASE("copies of candidates that an earlier pipeline has evaluated are duplicates") {
  PipelineOptions options = toy_options();
  const std::vector<Candidate> before = {toy_candidate(options, "honest us=7"), toy_candidate(options, "zeros"),
                                         toy_candidate(options, "honest cubin=same first")};
  const auto evaluated = evaluate_all(*make_pipeline(options), before);
  for (std::size_t i = 0; i < before.size(); ++i) options.finished.push_back({i, before[i], evaluated[i]});
  const auto evaluations =
      evaluate_all(*make_pipeline(options), {before[0], before[1], toy_candidate(options, "honest cubin=same second"),
                                             toy_candidate(options, "honest us=9")});
  CHECK(evaluations[0].verdict == Verdict::duplicate);
  CHECK(evaluations[0].latency_us == evaluated[0].latency_us);
  CHECK_THAT(why(evaluations[1]), ContainsSubstring("same source as proposal 1: wrong_answer"));
  CHECK_THAT(why(evaluations[2]), ContainsSubstring("same cubin as proposal 2: valid"));
  CHECK(evaluations[3].verdict == Verdict::valid);
}

TEST_CASE("with deduplication off every candidate is built and measured") {
  PipelineOptions options = toy_options();
  options.dedup = false;
  const auto pipeline = make_pipeline(options);
  const Candidate honest = toy_candidate(options, "honest");
  for (const Evaluation& evaluation : evaluate_all(*pipeline, {honest, honest})) {
    CHECK(evaluation.verdict == Verdict::valid);
  }
}

TEST_CASE("a launch beyond the device's limits is refused before it is compiled") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  Candidate candidate = toy_candidate(options, "compile_crash");
  candidate.programs[0].plans.begin()->second.launches[0].block = {2048, 1, 1};
  const Evaluation evaluation = evaluate_one(*pipeline, candidate);
  CHECK(evaluation.verdict == Verdict::illegal);
  CHECK(evaluation.builds.empty());
}

TEST_CASE("a workspace that does not fit is the candidate's fault") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  Candidate candidate = toy_candidate(options, "honest");
  for (auto& [shape, plan] : candidate.programs[0].plans)
    plan.workspaces = {{"partial", std::uint64_t{3} << 30, false}};
  const Evaluation evaluation = evaluate_one(*pipeline, candidate);
  CHECK(evaluation.verdict == Verdict::over_resources);
  CHECK_THAT(why(evaluation), ContainsSubstring("partial"));
}

TEST_CASE("results come in the order of submission and do not depend on the number of compile workers") {
  std::vector<std::vector<Evaluation>> runs;
  for (const int workers : {1, 4}) {
    PipelineOptions options = toy_options();
    options.compile_workers = workers;
    std::vector<Candidate> candidates;
    for (const char* source :
         {"honest us=3", "zeros", "honest us=4", "honest us=3", "nan", "honest us=5 cubin=x", "honest us=6 cubin=x"}) {
      candidates.push_back(toy_candidate(options, source));
    }
    runs.push_back(evaluate_all(*make_pipeline(options), candidates));
  }
  for (std::size_t i = 0; i < runs[0].size(); ++i) {
    CHECK(runs[0][i].verdict == runs[1][i].verdict);
    CHECK(runs[0][i].reason == runs[1][i].reason);
    CHECK(runs[0][i].latency_us == runs[1][i].latency_us);
    CHECK(runs[0][i].errors.size() == runs[1][i].errors.size());
  }
}

TEST_CASE("a failure of the machine is never valid, and several in a row end the run") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const Evaluation first = evaluate_one(*pipeline, toy_candidate(options, "break"));
  CHECK(first.verdict == Verdict::harness_failed);
  CHECK_THAT(why(first), ContainsSubstring("the cable fell out"));
  const auto fail_often = [&] {
    for (int i = 0; i < 10; ++i) evaluate_one(*pipeline, toy_candidate(options, "break " + std::to_string(i)));
  };
  CHECK_THROWS_AS(fail_often(), Error);
}

TEST_CASE("a missing device or compiler is reported before anything is submitted") {
  PipelineOptions options = toy_options();
  options.device.id = "fake:7";
  CHECK_THROWS_WITH(make_pipeline(options), ContainsSubstring("there is no such device"));
  options.device.id = "fake:0";
  options.worker_command = {EVO_TEST_WORKER, "broken"};
  CHECK_THROWS_WITH(make_pipeline(options), ContainsSubstring("no such device on this machine"));
  CHECK(no_children_left());
}

TEST_CASE("where a reference has a NaN, a NaN is right and a number is not") {
  PipelineOptions options = toy_options();
  options.tree = toy_tree("nan");
  const auto pipeline = make_pipeline(options);
  CHECK(evaluate_one(*pipeline, toy_candidate(options, "nan")).verdict == Verdict::valid);
  const Evaluation number = evaluate_one(*pipeline, toy_candidate(options, "honest"));
  CHECK(number.verdict == Verdict::wrong_answer);
  CHECK_THAT(why(number), ContainsSubstring("kind=not_finite") && ContainsSubstring("reference=nan"));
}

TEST_CASE("a reference that fails is the task's fault") {
  for (const auto& [reference, reason] : std::vector<std::pair<std::string, std::string>>{
           {"compile_error", "does not compile"}, {"fault", "trap"}, {"crash", "SIGSEGV"}}) {
    PipelineOptions options = toy_options();
    options.tree = toy_tree(reference);
    const auto pipeline = make_pipeline(options);
    CHECK_THROWS_WITH(evaluate_one(*pipeline, toy_candidate(options, "honest")),
                      ContainsSubstring("toy/reference.cu") && ContainsSubstring(reason));
  }
}

TEST_CASE("a pipeline can be destroyed while candidates hang, and leaves no process behind") {
  PipelineOptions options = toy_options();
  {
    const auto pipeline = make_pipeline(options);
    pipeline->submit(0, toy_candidate(options, "hang"));
    pipeline->submit(1, toy_candidate(options, "compile_hang"));
    pipeline->submit(2, toy_candidate(options, "honest"));
  }
  CHECK(no_children_left());
}

TEST_CASE("candidates timed by interleaving are subject to the same drift") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const InterleavedTimings timings =
      pipeline->time_interleaved({toy_candidate(options, "honest us=10 drift=0.01 noise=0.002 first"),
                                  toy_candidate(options, "honest us=9.9 drift=0.01 noise=0.002"),
                                  toy_candidate(options, "honest us=10 drift=0.01 noise=0.002")},
                                 21);
  REQUIRE(timings.rounds_us.size() == 3);
  CHECK(timings.rounds_us[0].size() == 21);
  CHECK_FALSE(timings.modelled);
  CHECK(timings.rounds_us[0].back() > 1.1 * timings.rounds_us[0].front());
  CHECK(ranking(paired_ratio(timings.rounds_us[1], timings.rounds_us[0], false)) == Ranking::faster);
  CHECK(ranking(paired_ratio(timings.rounds_us[2], timings.rounds_us[0], false)) == Ranking::same);
  // Afterwards the device evaluates submitted candidates.
  CHECK(evaluate_one(*pipeline, toy_candidate(options, "honest us=4")).latency_us == 4);
}

TEST_CASE("a candidate slowed by a power limit is timed at its own clock, not at the preceding candidate's") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const InterleavedTimings timings = pipeline->time_interleaved(
      {toy_candidate(options, "honest us=10"), toy_candidate(options, "honest us=9 clock=1500")}, 5);
  REQUIRE(timings.rounds_us[0].size() == 5);
  for (const double us : timings.rounds_us[0]) CHECK_THAT(us, Catch::Matchers::WithinRel(10.0, 1e-9));
  for (const double us : timings.rounds_us[1]) CHECK_THAT(us, Catch::Matchers::WithinRel(12.0, 1e-9));
}

TEST_CASE("candidates at the GPU's full clock are warmed up once, not in each round") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const auto second_of = [&](const std::string& first, const std::string& second) {
    return pipeline->time_interleaved({toy_candidate(options, first), toy_candidate(options, second)}, 2)
        .rounds_us[1]
        .at(1);
  };
  CHECK_THAT(second_of("honest us=9", "honest us=10 warm_us=11"), Catch::Matchers::WithinRel(10.0, 1e-9));
  CHECK_THAT(second_of("honest us=9 clock=1500", "honest us=10 warm_us=11"), Catch::Matchers::WithinRel(11.0, 1e-9));
  // Both clocks are lowered to the same value: without a warm-up both would start too fast after the pause.
  CHECK_THAT(second_of("honest us=9 clock=1500", "honest us=10 warm_us=12 clock=1500"),
             Catch::Matchers::WithinRel(16.0, 1e-9));
}

TEST_CASE("in long turns each round is warmed up, and the mean counts") {
  PipelineOptions options = toy_options();
  const auto second_us = [&] {
    return make_pipeline(options)
        ->time_interleaved(
            {toy_candidate(options, "honest us=9"), toy_candidate(options, "honest us=10 warm_us=12 swing=1")}, 2)
        .rounds_us[1]
        .at(1);
  };
  CHECK_THAT(second_us(), Catch::Matchers::WithinRel(10.0, 1e-9));
  options.turn_s = 1;
  CHECK_THAT(second_us(), Catch::Matchers::WithinRel(15.0, 1e-9));
}

TEST_CASE("in a search only candidates that a power limit slows down take long turns") {
  PipelineOptions options = toy_options();
  options.competing = true;
  const auto pipeline = make_pipeline(options);
  const auto time = [&](const std::string& second) {
    return pipeline->time_interleaved({toy_candidate(options, "honest us=9"), toy_candidate(options, second)}, 2);
  };
  const InterleavedTimings limited = time("honest us=9 swing=1 clock=1500"),
                           at_full_clock = time("honest us=9 swing=1");
  CHECK(limited.long_turns);
  CHECK_THAT(limited.rounds_us[1].at(1), Catch::Matchers::WithinRel(15.0, 1e-9));  // The mean.
  CHECK_FALSE(at_full_clock.long_turns);
  CHECK_THAT(at_full_clock.rounds_us[1].at(1), Catch::Matchers::WithinRel(9.0, 1e-9));
}

TEST_CASE("interleaved timing ends after the deciding round") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const EnoughRounds third = [](const InterleavedTimings& so_far) { return so_far.rounds_us[0].size() == 3; };
  const InterleavedTimings timings = pipeline->time_interleaved(
      {toy_candidate(options, "honest us=10"), toy_candidate(options, "honest us=9")}, 21, third);
  CHECK(timings.rounds_us[0].size() == 3);
  CHECK(timings.rounds_us[1].size() == 3);
}

TEST_CASE("a candidate that fails in interleaved timing does not affect the others") {
  const PipelineOptions options = toy_options();
  const auto pipeline = make_pipeline(options);
  const InterleavedTimings timings =
      pipeline->time_interleaved({toy_candidate(options, "honest us=10"), toy_candidate(options, "unsupported"),
                                  toy_candidate(options, "honest us=8 exit_when_timed")},
                                 5);
  REQUIRE(timings.rounds_us[0].size() == 5);
  for (const double us : timings.rounds_us[0]) CHECK_THAT(us, Catch::Matchers::WithinRel(10.0, 1e-9));
  CHECK_FALSE(timings.failures[0]);
  REQUIRE(timings.failures[1]);
  CHECK_THAT(*timings.failures[1], ContainsSubstring("frobnicate"));
  REQUIRE(timings.failures[2]);
  CHECK_THAT(*timings.failures[2], ContainsSubstring("lost"));
}

TEST_CASE("a failed candidate's errors end with the case that was wrong") {
  const Evaluation evaluation = evaluation_of("last_wrong");
  REQUIRE(!evaluation.errors.empty());
  CHECK(evaluation.errors.back().relative_l2 > 0.001);
  CHECK(std::all_of(evaluation.errors.begin(), evaluation.errors.end() - 1,
                    [](const CaseError& error) { return error.relative_l2 <= 0.001; }));
}
