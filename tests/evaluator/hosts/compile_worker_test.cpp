#include "evaluator/hosts/compile_worker.h"

#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a source that crashes its compiler is a failure, and the next one compiles") {
  CompileWorker compiler(toy_options(), nullptr);
  const auto crashed = compiler.compile("compile_crash", "sm_90a", 0);
  REQUIRE(std::holds_alternative<Failure>(crashed));
  CHECK(std::get<Failure>(crashed).verdict == Verdict::crashed);
  CHECK_THAT(std::get<Failure>(crashed).reason, ContainsSubstring("the compiler was killed by SIGSEGV"));
  CHECK(std::holds_alternative<Binary>(compiler.compile("honest", "sm_90a", 0)));
  CHECK(compiler.version() == "0.0");
}

TEST_CASE("a compiler whose machine fails says so, and so does one that does not answer") {
  PipelineOptions options = toy_options();
  CompileWorker broken(options, nullptr);
  CHECK(std::get<Failure>(broken.compile("compile_break", "sm_90a", 0)).verdict == Verdict::harness_failed);
  options.compile_deadline_s = 0.3;
  CompileWorker hanging(options, nullptr);
  CHECK(std::get<Failure>(hanging.compile("compile_hang", "sm_90a", 0)).verdict == Verdict::timed_out);
}
