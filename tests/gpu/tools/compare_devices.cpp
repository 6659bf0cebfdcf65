// Runs random genomes on a CUDA GPU and on the virtual GPU, from one compilation, and compares every output bit for
// bit. usage: evo_compare_devices [--templates DIR] [--task T]... [--family F] [--genomes N] [--seed S] [--model M]
// [--shapes a,b] Prints one line for each family and shape; the lines of genomes that differ go to stderr. Exit code 1
// when an output differs by more than approximate instructions explain.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "cli/sources/templates.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/space/space.h"
#include "engine/task/candidate.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/cuda/cuda_device.h"
#include "evaluator/device/inputs.h"
#include "evaluator/vgpu/virtual_device.h"

namespace {

using namespace evo;

/// The share of an output's norm by which approximate instructions (ex2.approx: 2 ulp) may move it after it has been
/// rounded to e4m3 probabilities and 16-bit outputs: one code in a thousand by one step.
constexpr double kApproximateRelativeL2 = 2e-3;

struct Arguments {
  std::string templates;
  std::vector<std::string> tasks;
  std::vector<std::string> shapes;
  std::string family;  ///< Empty: all of a task.
  std::string model = "h200";
  int genomes = 20;
  std::uint64_t seed = 1;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--templates")
      arguments.templates = value;
    else if (key == "--task")
      arguments.tasks.push_back(value);
    else if (key == "--family")
      arguments.family = value;
    else if (key == "--shapes")
      arguments.shapes = split(value);
    else if (key == "--model")
      arguments.model = value;
    else if (key == "--genomes")
      arguments.genomes = std::atoi(value.c_str());
    else if (key == "--seed")
      arguments.seed = std::strtoull(value.c_str(), nullptr, 10);
    else
      throw usage_error("unknown option " + key);
  }
  if (argc % 2 == 0) throw usage_error("every option takes a value");
  return arguments;
}

/// The bytes of every output after one call, or why it failed.
using Outputs = std::variant<std::vector<std::vector<std::byte>>, Failure>;

Outputs run_once(Device& device, const Binary& binary, const Plan& plan,
                 const std::vector<std::vector<std::byte>>& inputs) {
  std::optional<Failure> failure;
  const auto module = device.load(binary, failure);
  if (failure) return *failure;
  Buffers buffers;
  std::size_t next_input = 0;
  for (const PlanTensor& tensor : plan.tensors) {
    buffers.tensors.push_back(device.allocate(tensor.bytes, tensor.name));
    if (tensor.output)
      device.fill(buffers.tensors.back(), std::byte{0xff}, tensor.bytes);
    else
      device.upload(buffers.tensors.back(), inputs.at(next_input++));
  }
  for (const Workspace& workspace : plan.workspaces) {
    buffers.workspaces.push_back(device.allocate(std::max<std::uint64_t>(workspace.bytes, 1), workspace.name));
  }
  failure = device.run(*module, plan, buffers);
  std::vector<std::vector<std::byte>> outputs;
  for (std::size_t i = 0; !failure && i < plan.tensors.size(); ++i) {
    if (!plan.tensors[i].output) continue;
    outputs.emplace_back(plan.tensors[i].bytes);
    device.download(outputs.back(), buffers.tensors[i]);
  }
  if (failure && failure->device_lost) throw machine_error("the GPU's context is lost: " + failure->reason);
  for (const DeviceAddress address : buffers.tensors) device.free(address);
  for (const DeviceAddress address : buffers.workspaces) device.free(address);
  if (failure) return *failure;
  return outputs;
}

double to_double(const std::byte* at, DType dtype) {
  std::uint16_t half = 0;
  float single = 0;
  switch (dtype) {
    case DType::f32:
      std::memcpy(&single, at, 4);
      return single;
    case DType::bf16:
      std::memcpy(&half, at, 2);
      return std::bit_cast<float>(std::uint32_t{half} << 16);
    case DType::f16: {
      std::memcpy(&half, at, 2);
      const int exponent = (half >> 10) & 31, fraction = half & 1023;
      const double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                               : exponent == 0 ? std::ldexp(fraction, -24)
                                               : std::ldexp(1024 + fraction, exponent - 25);
      return half & 0x8000 ? -magnitude : magnitude;
    }
    default:
      throw usage_error("outputs of this type cannot be compared");
  }
}

struct Difference {
  std::uint64_t elements = 0;
  std::uint64_t unequal = 0;
  double difference2 = 0;
  double norm2 = 0;

  double relative_l2() const { return std::sqrt(difference2 / std::max(norm2, 1e-300)); }
  void add(const Difference& other) {
    elements += other.elements;
    unequal += other.unequal;
    difference2 += other.difference2;
    norm2 += other.norm2;
  }
};

Difference compare(const std::vector<std::byte>& a, const std::vector<std::byte>& b, DType dtype) {
  Difference difference;
  const std::size_t size = size_of(dtype);
  for (std::size_t at = 0; at < a.size(); at += size) {
    ++difference.elements;
    const double x = to_double(&a[at], dtype), y = to_double(&b[at], dtype);
    if (std::memcmp(&a[at], &b[at], size) != 0) {
      ++difference.unequal;
      difference.difference2 += (x - y) * (x - y);
    }
    difference.norm2 += x * x;
  }
  return difference;
}

struct Tally {
  int genomes = 0;
  int bitwise = 0;
  int failed = 0;
  double worst_relative_l2 = 0;
  Difference total;
};

class Comparison {
 public:
  explicit Comparison(const Arguments& arguments)
      : arguments_(arguments),
        tree_(cli::load_templates(arguments.templates)),
        compiler_(make_nvrtc_compiler()),
        gpu_(cuda::make_device(0)),
        virtual_(vgpu::make_device(arguments.model)) {}

  /// True when everything agrees.
  bool run() {
    std::printf("%-10s %-12s %-14s %8s %8s %8s %12s %12s\n", "task", "family", "shape", "genomes", "bitwise", "failed",
                "unequal", "worst relL2");
    bool agree = true;
    for (const std::string& task : arguments_.tasks.empty() ? task_names(tree_) : arguments_.tasks) {
      agree &= run_task(load_task(tree_, task));
    }
    return agree;
  }

 private:
  bool run_task(const Task& task) {
    Bindings facts = facts_of(gpu_->info().limits);
    bool agree = true;
    for (const auto& [name, value] : task.default_options()) facts[name] = value;
    for (const Shape& shape : shapes_of(task)) {
      Target target = make_target(task, "vgpu", {shape.name}, {});
      target.validated = {shape};
      const Space space(load_families(tree_, task), facts, specialisations_of(task, target));
      for (const Family& family : space.families())
        if (arguments_.family.empty() || arguments_.family == family.name)
          agree &= run_family(task, space, family, target, facts);
    }
    return agree;
  }

  std::vector<Shape> shapes_of(const Task& task) const {
    std::vector<Shape> shapes;
    const auto& names = arguments_.shapes.empty() ? task.shape_sets.at("vgpu").validated : arguments_.shapes;
    for (const std::string& name : names) shapes.push_back(parse_shape(task, name));
    return shapes;
  }

  bool run_family(const Task& task, const Space& space, const Family& family, const Target& target,
                  const Bindings& facts) {
    Rng rng(arguments_.seed);
    Tally tally;
    const Shape& shape = target.timed.front();
    for (int i = 0; i < arguments_.genomes; ++i) {
      const Genome genome = space.sample(rng, family.name);
      const Candidate candidate = make_candidate(tree_, task, family, genome, target, facts);
      const Regime& regime = task.regimes[static_cast<std::size_t>(i) % task.regimes.size()];
      run_genome(task, candidate, shape, regime, tally);
    }
    std::printf("%-10s %-12s %-14s %8d %8d %8d %7llu/%-8llu %9.2e\n", task.name.c_str(), family.name.c_str(),
                shape.name.c_str(), tally.genomes, tally.bitwise, tally.failed,
                static_cast<unsigned long long>(tally.total.unequal),
                static_cast<unsigned long long>(tally.total.elements), tally.worst_relative_l2);
    std::fflush(stdout);
    return tally.failed == 0 && tally.worst_relative_l2 <= kApproximateRelativeL2;
  }

  void run_genome(const Task& task, const Candidate& candidate, const Shape& shape, const Regime& regime,
                  Tally& tally) {
    const Program& program = candidate.programs.front();
    const Plan& plan = program.plans.at(shape.name);
    const auto compiled = compiler_->compile(program.source, gpu_->info().arch, program.max_registers);
    if (std::holds_alternative<Failure>(compiled)) {
      ++tally.failed;
      report(candidate, "does not compile: " + std::get<Failure>(compiled).reason);
      return;
    }
    const auto inputs = generate_inputs(make_recipe(task, task.default_options(), shape, regime, 1, arguments_.seed));
    const Outputs here = run_once(*virtual_, std::get<Binary>(compiled), plan, inputs);
    const Outputs there = run_once(*gpu_, std::get<Binary>(compiled), plan, inputs);
    ++tally.genomes;
    for (const Outputs* outputs : {&here, &there}) {
      if (!std::holds_alternative<Failure>(*outputs)) continue;
      ++tally.failed;
      report(candidate, (outputs == &here ? "virtual GPU: " : "GPU: ") + std::get<Failure>(*outputs).reason);
      return;
    }
    Difference difference;
    for (std::size_t i = 0, output = 0; i < plan.tensors.size(); ++i) {
      if (!plan.tensors[i].output) continue;
      difference.add(compare(std::get<0>(there)[output], std::get<0>(here)[output], plan.tensors[i].dtype));
      ++output;
    }
    tally.bitwise += difference.unequal == 0;
    tally.worst_relative_l2 = std::max(tally.worst_relative_l2, difference.relative_l2());
    tally.total.add(difference);
    if (difference.unequal) {
      report(candidate, shape.name + " " + regime.name + ": " + std::to_string(difference.unequal) + " of " +
                            std::to_string(difference.elements) + " differ, relative L2 " +
                            std::to_string(difference.relative_l2()));
    }
  }

  static void report(const Candidate& candidate, const std::string& what) {
    std::fprintf(stderr, "%s\n  %s\n", to_text(candidate.genome).c_str(), what.c_str());
  }

  Arguments arguments_;
  SourceTree tree_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<Device> gpu_;
  std::unique_ptr<Device> virtual_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    return Comparison(parse(argc, argv)).run() ? 0 : 1;
  } catch (const evo::Error& error) {
    std::fprintf(stderr, "evo_compare_devices: %s\n", error.what());
    return error.fault() == evo::Fault::usage ? 2 : 3;
  }
}
