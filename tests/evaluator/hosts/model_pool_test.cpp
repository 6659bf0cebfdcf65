#include "evaluator/hosts/model_pool.h"

#include <future>

#include "evaluator/judge/cases.h"
#include "tests/announcement.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::future<ModelPool::Result> start(ModelPool& pool, const PipelineOptions& options, const std::string& source) {
  const Candidate candidate = toy_candidate(options, source);
  const CasePlan plan = plan_cases(options.task, options.target, "cuda", 1);
  const Program& program = candidate.programs.front();
  return pool.model(program, "tiny", plan.cases[plan.smoke].recipe);
}

}  // namespace

TEST_CASE("a compiler failure costs one worker of the model pool, and other candidates are still modelled") {
  PipelineOptions options = toy_options();
  options.run_deadline_s = 60;
  PipelineOptions impatient = options;
  impatient.compile_deadline_s = 0.3;
  std::vector<std::future<ModelPool::Result>> results;
  {
    ModelPool pool(options, 1), hanging(impatient, 1);
    results.push_back(start(pool, options, "compile_crash"));
    results.push_back(start(hanging, impatient, "compile_hang"));
    for (const char* source : {"compile_error", "honest"}) results.push_back(start(pool, options, source));
    for (auto& result : results) result.wait();
  }
  const auto failure = [&](std::size_t i) { return std::get<Failure>(results[i].get()); };
  const Failure crashed = failure(0);
  CHECK(crashed.verdict == Verdict::crashed);
  CHECK_THAT(crashed.reason, ContainsSubstring("the compiler was killed by SIGSEGV"));
  CHECK(failure(1).verdict == Verdict::timed_out);
  CHECK(failure(2).verdict == Verdict::compile_failed);
  // The request reached the fake device, which is no virtual GPU.
  const Failure asked = failure(3);
  CHECK(asked.verdict == Verdict::harness_failed);
  CHECK_THAT(asked.reason, ContainsSubstring("modelling: fake:0 has no counters"));
  CHECK(no_children_left());
}

TEST_CASE("workers of a model pool that die while they have nothing to do cost no program") {
  PipelineOptions options = toy_options();
  options.run_deadline_s = 60;
  ModelPool pool(options, 1);
  for (const char* source : {"counted us=3", "counted us=4"}) {
    const auto result = start(pool, options, source).get();
    const auto* failure = std::get_if<Failure>(&result);
    CHECK((failure == nullptr ? "" : failure->reason) == "");
    kill_children();
  }
}

TEST_CASE("destroying a model pool does not wait for its requests") {
  PipelineOptions options = toy_options();
  options.compile_deadline_s = options.run_deadline_s = 1e9;
  const Announcement begun;
  std::future<ModelPool::Result> hanging, waiting;
  {
    ModelPool pool(options, 1);
    hanging = start(pool, options, "compile_hang begun=" + begun.path());
    waiting = start(pool, options, "honest");
    begun.wait();
  }
  CHECK_THROWS_AS(hanging.get(), Stopped);
  CHECK_THROWS(waiting.get());
  CHECK(no_children_left());
}
