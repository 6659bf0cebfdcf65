#include "evaluator/hosts/binary_cache.h"

#include <memory>
#include <optional>

#include "evaluator/hosts/compile_pool.h"
#include "evaluator/hosts/model_pool.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;

namespace {

protocol::Compile request(const std::string& source, int max_registers = 0) {
  return {source, "sm_90a", max_registers};
}

Binary binary(const std::string& ptx) {
  Binary made;
  made.ptx = ptx;
  return made;
}

std::optional<std::string> ptx_of(BinaryCache& cache, const protocol::Compile& wanted) {
  const auto found = cache.find(wanted);
  return found ? std::optional(found->ptx) : std::nullopt;
}

}  // namespace

TEST_CASE("a binary is found by all inputs of its compilation") {
  BinaryCache cache;
  cache.keep(request("one"), binary("1"));
  cache.keep(request("one", 64), binary("64"));
  CHECK(ptx_of(cache, request("one")) == "1");
  CHECK(ptx_of(cache, request("one", 64)) == "64");
  CHECK(!ptx_of(cache, request("two")));
  CHECK(!ptx_of(cache, {"one", "sm_80", 0}));
  cache.keep(request("one"), binary("another"));
  CHECK(ptx_of(cache, request("one")) == "1");
}

TEST_CASE("compile pool and model pool reuse each other's binaries") {
  PipelineOptions options = toy_options();
  options.run_deadline_s = 10;
  options.binaries = std::make_shared<BinaryCache>();
  const Program program = toy_candidate(options, "honest").programs.front();
  const Program crashing = toy_candidate(options, "compile_crash").programs.front();
  {
    ModelPool models(options, 1);
    models.model(program, "tiny", {}).wait();
  }
  const auto compiled = options.binaries->find(compile_request(program, options.device.arch));
  REQUIRE(compiled);

  // The compiler would crash if it compiled this source.
  const protocol::Compile never = compile_request(crashing, options.device.arch);
  options.binaries->keep(never, *compiled);
  CompilePool pool(options, 1, nullptr);
  const CompilePool::Result result = pool.compile(never).get();
  REQUIRE(std::holds_alternative<Binary>(result));
  CHECK(std::get<Binary>(result).ptx == compiled->ptx);
  const CompilePool::Result other = pool.compile({never.source, "sm_75", never.max_registers}).get();
  CHECK(std::get<Failure>(other).verdict == Verdict::crashed);
  pool.compile({program.source, options.device.arch, 64}).wait();
  CHECK(options.binaries->find({program.source, options.device.arch, 64}));
  ModelPool models(options, 1);
  const ModelPool::Result asked = models.model(crashing, "tiny", {}).get();
  CHECK(std::get<Failure>(asked).reason.starts_with("modelling: "));
}
