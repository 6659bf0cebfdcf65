// Kernels of other kinds than the shipped ones (tests/data/tasks): each has a family that is right and one that is
// wrong in a way that only good draws show.

#include <catch2/generators/catch_generators.hpp>

#include "bench.h"

using namespace evo::testing;

namespace {

struct Subject {
  std::string task;
  std::string family;
};

Outcome run_family(const Bench& bench, const Subject& subject, const std::string& family, int evaluations) {
  return bench.evo(
      {"run", "--templates", std::string(EVO_TEST_DATA) + "/tasks", "--task", subject.task, "--family", family,
       "--device", "vgpu", "--evals", std::to_string(evaluations), "--seed", "1", "--db", subject.task + ".db"},
      kChecksElites);
}

}  // namespace

TEST_CASE("kernels of twelve kinds are valid, and a wrong one of each is rejected by what is drawn", "[sweep]") {
  const auto subject =
      GENERATE(Subject{"argmax", "warps"}, Subject{"axpy", "grid_stride"}, Subject{"batched_gemm", "tiled"},
               Subject{"convolution", "tiled"}, Subject{"embedding", "gather"}, Subject{"layernorm", "rows"},
               Subject{"quantise_s8", "rows"}, Subject{"quantise_u8", "rows"}, Subject{"ragged_sum", "lanes"},
               Subject{"split_k", "atomics"}, Subject{"sum_f64", "two_steps"}, Subject{"w4a16_unpack", "bytes"});
  const Bench bench;
  const Outcome right = run_family(bench, subject, subject.family, 2);
  INFO(subject.task);
  CHECK(right.code == 0);
  CHECK(right.out.find("2 evaluated: 2 valid") != std::string::npos);
  const Outcome wrong = run_family(bench, subject, "wrong", 1);
  CHECK(wrong.code == 1);
  CHECK(wrong.out.find("1 wrong_answer") != std::string::npos);
}
