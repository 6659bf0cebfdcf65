#include "cli/foresight.h"

#include <cmath>
#include <limits>
#include <utility>

#include "engine/error.h"
#include "evaluator/gates.h"
#include "evaluator/parallel.h"
#include "evaluator/pipeline.h"

namespace evo::cli {
namespace {

constexpr double kFails = std::numeric_limits<double>::infinity();

}  // namespace

ModelForesight::ModelForesight(Task task, Target target, const DeviceInfo& device, Build build)
    : task_(std::move(task)),
      target_(std::move(target)),
      device_(device.kind == "vgpu" ? device : resolve_device(virtual_gpu_like(device.name))),
      build_(std::move(build)) {}

std::vector<std::optional<double>> ModelForesight::latencies(const std::vector<Genome>& genomes) {
  std::vector<std::optional<double>> latencies(genomes.size());
  parallel_each(genomes.size(), [&] {
    return [&](std::size_t i) {
      std::unique_ptr<Modeller> modeller = borrow();
      latencies[i] = latency(*modeller, genomes[i]);
      give_back(std::move(modeller));
    };
  });
  return latencies;
}

std::optional<double> ModelForesight::latency(Modeller& modeller, const Genome& genome) const {
  const Candidate candidate = build_(genome);
  double logarithms = 0;
  for (const Shape& shape : target_.timed) {
    const auto modelled = modeller.model(candidate, shape);
    if (const auto* failure = std::get_if<Failure>(&modelled)) {
      if (failure->verdict == Verdict::unsupported) return std::nullopt;  // The virtual GPU's limit, not the candidate's.
      return kFails;
    }
    const auto& cost = std::get<Modelled>(modelled);
    if (check_resources(*cost.program, cost.build, device_)) return kFails;
    logarithms += std::log(cost.cost.latency_us);
  }
  return std::exp(logarithms / static_cast<double>(target_.timed.size()));
}

std::unique_ptr<Modeller> ModelForesight::borrow() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Modeller>(task_, target_, device_);
  std::unique_ptr<Modeller> modeller = std::move(idle_.back());
  idle_.pop_back();
  return modeller;
}

void ModelForesight::give_back(std::unique_ptr<Modeller> modeller) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(modeller));
}

}  // namespace evo::cli
