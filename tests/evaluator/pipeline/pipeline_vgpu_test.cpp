// The pipeline with nothing faked: NVRTC compiles, the virtual GPU runs.

#include <unistd.h>

#include <array>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/hosts/devices.h"
#include "tests/evaluator/toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

constexpr const char* kReference = R"cu(
extern "C" __global__ void add_reference(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = (float)((double)a[i] + (double)b[i]);
}
)cu";

/// A kernel around one statement; `i` is the thread's element.
std::string kernel(const std::string& statement, const std::string& before = "") {
  return before + R"cu(
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
)cu" + "  " +
         statement + "\n}\n";
}

bool has_nvrtc() {
  try {
    make_nvrtc_compiler();
    return true;
  } catch (const Error&) {
    return false;
  }
}

PipelineOptions vgpu_options() {
  PipelineOptions options = toy_options();
  options.tree = toy_tree(kReference);
  options.task = load_task(options.tree, "toy");
  options.device = resolve_device("vgpu:h200");
  options.target = make_target(options.task, "vgpu", {}, {});
  options.worker_command = {EVO_TEST_WORKER, "real"};
  return options;
}

}  // namespace

TEST_CASE("on the virtual GPU a right kernel is valid and has a modelled time") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  const PipelineOptions options = vgpu_options();
  const auto pipeline = make_pipeline(options);
  const Evaluation evaluation =
      evaluate_one(*pipeline, toy_candidate(options, kernel("if (i < n) c[i] = a[i] + b[i];")));
  INFO(why(evaluation));
  REQUIRE(evaluation.verdict == Verdict::valid);
  REQUIRE(evaluation.timings.size() == 1);
  CHECK(evaluation.timings[0].modelled);
  CHECK(evaluation.latency_us >= options.device.launch_floor_us);
  CHECK(evaluation.worst_relative_l2 < 1e-6);
  REQUIRE(evaluation.builds.size() == 1);
  CHECK(evaluation.builds[0].largest().registers > 0);
  CHECK(evaluation.builds[0].cubin_hash.size() == 32);
  REQUIRE(evaluation.residency.size() == 1);
  CHECK(evaluation.residency[0].kernel == "add");
  CHECK(evaluation.residency[0].blocks > 0);
}

TEST_CASE("on the virtual GPU each kind of wrong kernel is rejected for its own reason, and the pipeline continues") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  PipelineOptions options = vgpu_options();
  options.run_deadline_s = 5;
  const auto pipeline = make_pipeline(options);
  struct Planted {
    std::string source;
    Verdict verdict;
    std::string reason;
  };
  const std::vector<Planted> planted = {
      {kernel("if (i < n) c[i] = a[i] - b[i];"), Verdict::wrong_answer, "kind=relative_l2"},
      {kernel("if (i < n - 1) c[i] = a[i] + b[i];"), Verdict::wrong_answer, "kind=not_finite"},
      {kernel("if (i < n) c[i] = 0.0f;"), Verdict::wrong_answer, "kind=relative_l2"},
      {kernel("if (i <= n) c[i] = i < n ? a[i] + b[i] : 0.0f;"), Verdict::crashed, "c"},
      {kernel("if (i < n) c[i] = a[i + 1] + b[i];"), Verdict::crashed, "a"},
      {kernel("if (i < n) *(float*)((char*)c + 4 * i + 2) = a[i] + b[i];"), Verdict::crashed, "align"},
      {kernel("if (i < n) ((float*)a)[i] += 1.0f; if (i < n) c[i] = a[i] + b[i] - 1.0f;"), Verdict::wrong_answer,
       "changed its input a"},
      {kernel("volatile int spin = 1; while (spin) {} if (i < n) c[i] = a[i] + b[i];"), Verdict::timed_out, ""},
      {kernel("if (i < n) c[i] = a[i] + b[i]; asm volatile(\"trap;\");"), Verdict::crashed, "trap"},
      {kernel("if (i < n) { c[i] = a[i] + b[i] + remembered; remembered = 0.0f; }", "__device__ float remembered;"),
       Verdict::illegal, "remembered"},
      {kernel("if (i < n) c[i] = a[i] +;"), Verdict::compile_failed, "error"},
      {kernel("if (i < n) c[i] = a[i] + b[i] * 0.0f;"), Verdict::wrong_answer, "kind=relative_l2"},
  };
  std::vector<Candidate> candidates;
  for (const Planted& one : planted) candidates.push_back(toy_candidate(options, one.source));
  candidates.push_back(toy_candidate(options, kernel("if (i < n) c[i] = b[i] + a[i];")));
  const auto evaluations = evaluate_all(*pipeline, candidates);
  for (std::size_t i = 0; i < planted.size(); ++i) {
    INFO(planted[i].source << name_of(evaluations[i].verdict) << ": " << why(evaluations[i]));
    CHECK(evaluations[i].verdict == planted[i].verdict);
    CHECK_THAT(why(evaluations[i]), ContainsSubstring(planted[i].reason));
  }
  INFO(why(evaluations.back()));
  CHECK(evaluations.back().verdict == Verdict::valid);
}

TEST_CASE("races and reads of unwritten memory are rejected on the virtual GPU even if the answer is right") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  const PipelineOptions options = vgpu_options();
  const auto pipeline = make_pipeline(options);
  const std::string array = "__shared__ float one[128];\n  ";
  const std::vector<Candidate> candidates = {
      toy_candidate(options, kernel(array + "one[threadIdx.x] = 1.0f;\n"
                                            "  if (i < n) c[i] = (a[i] + b[i]) * one[threadIdx.x ^ 1];")),
      toy_candidate(options, kernel(array + "if (n < 0) one[threadIdx.x] = 1.0f;\n"
                                            "  if (i < n) c[i] = a[i] + b[i] + one[threadIdx.x] * 0.0f;")),
      toy_candidate(options, kernel(array + "one[threadIdx.x] = 1.0f;\n  __syncwarp();\n"
                                            "  if (i < n) c[i] = (a[i] + b[i]) * one[threadIdx.x ^ 1];")),
  };
  const auto evaluations = evaluate_all(*pipeline, candidates);
  CHECK(evaluations[0].verdict == Verdict::crashed);
  CHECK_THAT(why(evaluations[0]), ContainsSubstring("race: kernel add, line 6"));
  CHECK_THAT(why(evaluations[0]), ContainsSubstring("'one'"));
  CHECK(evaluations[1].verdict == Verdict::crashed);
  CHECK_THAT(why(evaluations[1]), ContainsSubstring("nobody has written"));
  INFO(why(evaluations[2]));
  CHECK(evaluations[2].verdict == Verdict::valid);
}

TEST_CASE("two sources that differ only in names compile to the same cubin and are evaluated once") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  const PipelineOptions options = vgpu_options();
  const auto pipeline = make_pipeline(options);
  const auto evaluations = evaluate_all(
      *pipeline,
      {toy_candidate(options, kernel("if (i < n) c[i] = a[i] + b[i];")),
       toy_candidate(options,
                     kernel("const float sum = a[min(i, n - 1)] + 0.0f; (void)sum; if (i < n) c[i] = a[i] + b[i];"))});
  CHECK(evaluations[0].verdict == Verdict::valid);
  CHECK(evaluations[1].verdict == Verdict::duplicate);
  CHECK(evaluations[1].latency_us == evaluations[0].latency_us);
}

TEST_CASE("on the virtual GPU kernels are found by their C++ names, and headers are there") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  PipelineOptions options = vgpu_options();
  options.dedup = false;
  const auto pipeline = make_pipeline(options);
  const std::string body =
      "(const float* a, const float* b, float* c, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) c[i] = a[i] + b[i];\n}\n";
  const auto launching = [&](const std::string& source, const std::string& kernel) {
    Candidate candidate = toy_candidate(options, source);
    for (Program& program : candidate.programs)
      for (auto& [shape, plan] : program.plans)
        for (Launch& launch : plan.launches) launch.kernel = kernel;
    return evaluate_one(*pipeline, candidate);
  };
  for (const auto& [source, kernel] :
       std::vector<std::pair<std::string, std::string>>{{"__global__ void add" + body, "add"},
                                                        {"namespace ns { __global__ void add" + body + "}", "ns::add"},
                                                        {"template <int N> __global__ void add" + body, "add<32>"},
                                                        {"#include <cstdint>\n__global__ void add" + body, "add"}}) {
    const Evaluation evaluation = launching(source, kernel);
    INFO(source << why(evaluation));
    CHECK(evaluation.verdict == Verdict::valid);
    CHECK(evaluation.residency.at(0).kernel == kernel);
  }
  const Evaluation none = launching("__global__ void sum" + body, "add");
  CHECK(none.verdict == Verdict::compile_failed);
  CHECK(none.reason == "the program has no kernel add; there are: sum (a template needs its arguments: add<float>)");
}

TEST_CASE("failures name the template's lines, those of a reference its file's") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  PipelineOptions options = vgpu_options();
  {
    const auto pipeline = make_pipeline(options);
    for (const std::string statement : {"if (i < n) c[i] = a[i] +;", "if (i <= n) c[i] = a[i];"}) {
      Candidate candidate = toy_candidate(options, kernel(statement));
      LineMap lines;
      lines.add(1, "toy/plain/kernel.cu", 41);
      for (Program& program : candidate.programs) program.lines = lines;
      CHECK_THAT(why(evaluate_one(*pipeline, candidate)), ContainsSubstring("toy/plain/kernel.cu:44"));
    }
  }
  options.tree = toy_tree("//% # remark\nextern \"C\" __global__ void add_reference() { oops; }\n");
  const auto pipeline = make_pipeline(options);
  CHECK_THROWS_WITH(evaluate_one(*pipeline, toy_candidate(options, kernel(""))),
                    ContainsSubstring("toy/reference.cu:2: error: identifier \"oops\" is undefined"));
}

TEST_CASE(
    "without an emulation a draw is ill-conditioned where the last bits of its inputs move the reference's results") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  PipelineOptions options = vgpu_options();
  options.tree = toy_tree(R"cu(
extern "C" __global__ void add_reference(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = (float)sin(3.0 * a[i]);
}
)cu");
  options.task = load_task(options.tree, "toy");
  options.task.limits = {.relative_l2 = 1e-5};
  options.task.objectives.front().limits = options.task.limits;
  options.task.regimes = {{"normal", Distribution::normal, 1}, {"many_turns", Distribution::normal, 3e4}};
  const auto pipeline = make_pipeline(options);
  const auto evaluated = [&](const std::string& value) {
    return evaluate_one(*pipeline, toy_candidate(options, kernel("if (i < n) c[i] = " + value + ";")));
  };
  const Evaluation honest = evaluated("sinf(3.0f * a[i])");  // Its product is rounded.
  INFO(honest.reason);
  CHECK(honest.verdict == Verdict::valid);
  CHECK(std::ranges::none_of(honest.errors, [](const CaseError& error) { return error.regime == "many_turns"; }));
  CHECK(evaluated("sinf(3.0f * a[i] + 2e-5f)").verdict == Verdict::wrong_answer);
  CHECK(evaluated("fabsf(a[i]) < 1e3f ? sinf(3.0f * a[i]) : 0.5f").verdict == Verdict::wrong_answer);
}

namespace {

/// What evaluations on the host and on the device say of the same candidates. Sums may be in another order: how many
/// are is returned.
int check_same(const std::vector<Evaluation>& by_host, const std::vector<Evaluation>& on_device) {
  int in_another_order = 0;
  REQUIRE(on_device.size() == by_host.size());
  for (std::size_t i = 0; i < by_host.size(); ++i) {
    const Evaluation &host = by_host[i], &there = on_device[i];
    CHECK(name_of(there.verdict) == name_of(host.verdict));
    CHECK(why(there) == why(host));
    REQUIRE(there.errors.size() == host.errors.size());
    for (std::size_t e = 0; e < host.errors.size(); ++e) {
      CHECK(there.errors[e].regime == host.errors[e].regime);
      CHECK_THAT(there.errors[e].relative_l2, WithinRel(host.errors[e].relative_l2, 1e-12));
      CHECK_THAT(there.errors[e].max_abs, WithinRel(host.errors[e].max_abs, 1e-12));
      if (there.errors[e].relative_l2 != host.errors[e].relative_l2) ++in_another_order;
    }
  }
  return in_another_order;
}

/// Judged by the host, and judged there.
std::array<std::vector<Evaluation>, 2> evaluated_both_ways(PipelineOptions options,
                                                           const std::vector<Candidate>& candidates) {
  std::array<std::vector<Evaluation>, 2> found;
  options.notice = [](const std::string& line) { FAIL_CHECK(line); };
  for (std::size_t there = 0; there < 2; ++there) {
    options.judged_there_from = there == 0 ? UINT64_MAX : 1;
    found.at(there) = evaluate_all(*make_pipeline(options), candidates);
  }
  return found;
}

}  // namespace

TEST_CASE("a kernel that is judged where its outputs are gets the verdict and the errors that the host gives",
          "[long]") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  const PipelineOptions options = vgpu_options();
  const auto [host, there] =
      evaluated_both_ways(options, {toy_candidate(options, kernel("if (i < n) c[i] = a[i] + b[i];")),
                                    toy_candidate(options, kernel("if (i < n) c[i] = (a[i] + b[i]) * 1.0005f;")),
                                    toy_candidate(options, kernel("if (i < n) c[i] = i == 700 ? 0 : a[i] + b[i];")),
                                    toy_candidate(options, kernel("if (i < n && i != 3) c[i] = a[i] + b[i];")),
                                    toy_candidate(options, kernel("if (i < n) ((float*)b)[i] = 1, c[i] = a[i] + 1;"))});
  CHECK(check_same(host, there) > 0);
  CHECK(there[0].verdict == Verdict::valid);
  CHECK(there[2].verdict == Verdict::wrong_answer);
}

TEST_CASE("a kernel that computes in place and is judged there gets the verdict and the errors that the host gives") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  PipelineOptions options = vgpu_options();
  options.tree = toy_tree(R"cu(
extern "C" __global__ void add_reference(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = (float)((double)c[i] + 1e-4 * ((double)a[i] + (double)b[i]));
}
)cu");
  options.task = load_task(options.tree, "toy");
  options.task.outputs.front().inout = true;
  const auto candidate = [&](const std::string& statement) {
    Candidate made = toy_candidate(options, kernel(statement));
    for (auto& [shape, plan] : made.programs.front().plans) plan.tensors.back().inout = true;
    return made;
  };
  const auto [host, there] = evaluated_both_ways(
      options, {candidate("if (i < n) c[i] += 1e-4f * (a[i] + b[i]);"),
                candidate("if (i < n) c[i] += 1e-4f * a[i];"),  // Errs by less than the output's own limits.
                candidate("if (n < 0) c[i] = 0;")});
  check_same(host, there);
  CHECK(there[0].verdict == Verdict::valid);
  CHECK(there[1].verdict == Verdict::wrong_answer);
  REQUIRE(there[1].mismatch);
  CHECK(there[1].mismatch->miss.kind == LimitKind::change);
  CHECK(there[2].verdict == Verdict::wrong_answer);
}

TEST_CASE("where a device draws other numbers than the host, the host judges and says so once") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  Notices notices;
  PipelineOptions options = vgpu_options();
  options.judged_there_from = 1;
  options.worker_command = {EVO_TEST_WORKER, "draws_other_numbers"};
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  const std::vector<Evaluation> found =
      evaluate_all(*pipeline, {toy_candidate(options, kernel("if (i < n) c[i] = a[i] + b[i];")),
                               toy_candidate(options, kernel("if (i < n) c[i] = a[i] - b[i];"))});
  CHECK(why(found[0]).empty());
  CHECK(found[0].verdict == Verdict::valid);
  CHECK(found[1].verdict == Verdict::wrong_answer);
  CHECK_THAT(notices.said(),
             ContainsSubstring("the host draws inputs and compares outputs, since the device cannot: vgpu:h200 draws "
                               "other numbers for input a than the host"));
  CHECK(std::ranges::count(notices.said(), '\n') == 1);
}

TEST_CASE("after a worker that is lost while it gets ready to judge, the next one judges") {
  if (!has_nvrtc()) SKIP("no NVRTC on this machine");
  const std::filesystem::path died =
      std::filesystem::temp_directory_path() / ("evo_worker_died_" + std::to_string(::getpid()));
  Notices notices;
  PipelineOptions options = vgpu_options();
  options.judged_there_from = 1;
  options.worker_command = {EVO_TEST_WORKER, "dies_once=" + died.string()};
  options.notice = notices.listener();
  const auto pipeline = make_pipeline(options);
  for (const char* sum : {"a[i] + b[i]", "b[i] + a[i]"}) {
    const Candidate candidate = toy_candidate(options, kernel(std::string("if (i < n) c[i] = ") + sum + ";"));
    CHECK(evaluate_one(*pipeline, candidate).verdict == Verdict::valid);
  }
  CHECK(std::filesystem::remove(died));
  CHECK(notices.said().empty());
}
