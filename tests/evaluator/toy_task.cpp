#include "toy_task.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "engine/base/hash.h"
#include "engine/record/enumerators.h"
#include "tests/evaluator/worker/fake_tools.h"

namespace evo::testing {
namespace {

constexpr const char* kTaskJson = R"json({
  "summary": "c = a + b",
  "shape_parameters": ["N"],
  "specialised": [],
  "options": {},
  "inputs": [ { "name": "a", "dtype": "f32", "dims": ["N"] }, { "name": "b", "dtype": "f32", "dims": ["N"] } ],
  "outputs": [ { "name": "c", "dtype": "f32", "dims": ["N"] } ],
  "shapes": { "tiny": { "N": 5 }, "middle": { "N": 1000 }, "large": { "N": 40000 } },
  "sets": { "cuda": { "timed": ["large"], "validated": ["tiny", "middle", "large"] },
            "vgpu": { "timed": ["middle"], "validated": ["tiny", "middle"] } },
  "seeds": 3,
  "regimes": {
    "normal": { "distribution": "normal" },
    "peaked": { "distribution": "normal", "gain": 4 },
    "flat":   { "distribution": "normal", "gain": 0.1 },
    "zeros":  { "distribution": "zero_group" },
    "sparse": { "distribution": "sparse" }
  },
  "limits": { "relative_l2": 0.001, "cosine": 0.9999, "max_abs": 0.01 },
  "floor": { "flops": "N", "bytes": "12 * N", "math": "f32" },
  "reference": { "kernel": "add_reference", "grid": ["ceil_div(N, 128)", "1", "1"], "block": ["128", "1", "1"],
                 "arguments": ["a", "b", "c", "N"] }
})json";

Plan toy_plan(std::int64_t count) {
  const auto bytes = static_cast<std::uint64_t>(count) * 4;
  Plan plan;
  plan.tensors = {{"a", DType::f32, bytes, false}, {"b", DType::f32, bytes, false}, {"c", DType::f32, bytes, true}};
  Launch launch;
  launch.kernel = "add";
  launch.grid = {static_cast<std::uint32_t>((count + 127) / 128), 1, 1};
  launch.block = {128, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) launch.arguments.push_back({Argument::Kind::tensor, i});
  launch.arguments.push_back(Argument::of_int(static_cast<std::int32_t>(count)));
  plan.launches.push_back(launch);
  return plan;
}

}  // namespace

SourceTree toy_tree(const std::string& reference) {
  return {{"toy/task.json", kTaskJson}, {"toy/reference.cu", reference}};
}

PipelineOptions toy_options() {
  PipelineOptions options;
  options.tree = toy_tree("honest");
  options.task = load_task(options.tree, "toy");
  options.target = make_target(options.task, "cuda", {}, {});
  options.device = fake_device_info();
  options.salt = 42;
  options.compile_workers = 2;
  options.timing_seconds = 0.1;
  options.judged_there_from = UINT64_MAX;  // Fakes run no kernels of the program's own.
  options.worker_command = {EVO_TEST_WORKER, "fake"};
  return options;
}

Candidate toy_candidate(const PipelineOptions& options, const std::string& source) {
  Program program;
  program.source = source;
  program.source_hash = hash_hex(source);
  for (const Shape& shape : options.target.validated) {
    program.plans[shape.name] = toy_plan(std::get<std::int64_t>(shape.parameters.at("N")));
  }
  return {Genome{"toy", {}}, {program}};
}

std::vector<Evaluation> evaluate_all(Evaluator& evaluator, const std::vector<Candidate>& candidates) {
  std::vector<Evaluation> evaluations(candidates.size());
  std::size_t submitted = 0;
  for (std::size_t done = 0; done < candidates.size(); ++done) {
    for (; submitted < candidates.size() && submitted < done + evaluator.width(); ++submitted) {
      evaluator.submit(submitted, candidates[submitted]);
    }
    Evaluator::Done result = evaluator.wait();
    evaluations.at(result.ticket) = std::move(result.evaluation);
  }
  return evaluations;
}

std::string why(const Evaluation& evaluation) {
  std::string text = evaluation.reason;
  if (const auto& original = evaluation.original)
    text = fmt::format("same {} as proposal {}: {}", enumerator_name(original->shared), original->ticket,
                       name_of(original->verdict));
  if (!evaluation.mismatch) return text;
  for_each_field(*evaluation.mismatch, [&]<class Value>(const char* name, const Value& value) {
    if constexpr (IsRecord<Value>)
      return;  // Its fields are visited.
    else if constexpr (std::is_enum_v<Value>)
      text += fmt::format(" {}={}", name, enumerator_name(value));
    else if constexpr (requires { value.has_value(); })
      text += value ? fmt::format(" {}={}", name, *value) : "";
    else
      text += fmt::format(" {}={}", name, value);
  });
  return text;
}

Evaluation evaluate_one(Evaluator& evaluator, const Candidate& candidate) {
  return evaluate_all(evaluator, {candidate}).front();
}

bool no_children_left() {
  return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

void kill_children() {
  std::vector<pid_t> children;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream numbers(thread.path() / "children");
    for (pid_t child = 0; numbers >> child;) children.push_back(child);
  }
  REQUIRE_FALSE(children.empty());
  for (const pid_t child : children) REQUIRE(::kill(child, SIGKILL) == 0);
  for (const pid_t child : children) {
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  }
}

void check_ends_with_parent(const WorkerOptions& options, const protocol::Request& request) {
  // The parent here is a child of this process and dies by SIGKILL without cleaning up. This process cannot wait for
  // the child's worker, so a pipe that the worker inherited shows its end.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    WorkerClient worker(options);
    worker.send(request);
    ::close(ends[0]);
    char byte = 'r';
    [[maybe_unused]] const auto written = ::write(ends[1], &byte, 1);
    ::raise(SIGKILL);
  }
  ::close(ends[1]);
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == 1);
  CHECK(::read(ends[0], &byte, 1) == 0);  // No process with the write end is left.
  ::close(ends[0]);
  ::waitpid(parent, nullptr, 0);
}

}  // namespace evo::testing
