#include "cli/model/model_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "cli/subject/lookup.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/result/profile.h"
#include "engine/task/candidate.h"
#include "evaluator/base/parallel.h"
#include "evaluator/base/statistics.h"
#include "evaluator/hosts/devices.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/vgpu/cost/modelled_counters.h"

namespace evo::cli {
namespace {

/// The family that has the sweep's genes, and besides them only genes that have come since and depend on others.
std::string family_of(const SourceTree& tree, const Task& task, const Sweep& sweep) {
  std::set<std::string, std::less<>> wanted;
  for (const auto& [gene, allele] : sweep.points.front().genes) wanted.insert(gene);
  for (const Family& family : load_families(tree, task)) {
    std::set<std::string, std::less<>> genes, always;
    for (const Gene& gene : family.genes) {
      genes.insert(gene.name);
      if (gene.when.text() == "true") always.insert(gene.name);
    }
    if (std::ranges::includes(genes, wanted) && std::ranges::includes(wanted, always)) return family.name;
  }
  throw usage_error(fmt::format("{}: no family of the task {} has its genes", sweep.name, task.name));
}

/// The genome without its inactive genes; when it is not legal `failure` says why. Genes that came after the recording
/// have their first allele: what kernels were before.
Genome legal_genome(const Space& space, const Sweep::Point& point, const std::string& family, std::string& failure) {
  Rng rng(0);
  Genome wish{family, point.genes};
  for (const Gene& gene : space.family(family).genes) wish.genes.try_emplace(gene.name, gene.alleles.front());
  Genome genome = space.complete(wish, rng);
  for (const auto& [gene, allele] : genome.genes) {
    if (wish.genes.at(gene) == allele) continue;
    Genome active = wish;
    std::erase_if(active.genes, [&](const auto& entry) { return !genome.genes.contains(entry.first); });
    failure = space.why_illegal(active).value_or("it is not legal");
    break;
  }
  return genome;
}

/// Shared by all threads.
struct Setting {
  const SourceTree& tree;
  Task task;
  DeviceInfo device;
  Target target;
  Space space;
  std::filesystem::path kept;
};

void model_point(const Setting& setting, Modeller& modeller, FitPoint& point) {
  if (!point.failure.empty()) return;
  const Candidate candidate = make_candidate(setting.tree, setting.task, setting.space.family(point.genome.family),
                                             point.genome, setting.target, facts_of(setting.device.limits));
  auto modelled = modeller.model(candidate, setting.target.timed.front());
  if (const auto* failure = std::get_if<Failure>(&modelled)) {
    point.failure = failure->reason;
    return;
  }
  auto& done = std::get<Modelled>(modelled);
  point.build = std::move(done.build);
  point.cost = std::move(done.cost);
  point.modelled_us = point.cost.latency_us;
}

/// Points are independent, so threads take them in any order.
void model_points(const Setting& setting, std::vector<FitPoint>& points) {
  parallel_each(points.size(), [&] {
    const auto modeller = std::make_shared<Modeller>(setting.task, setting.target, setting.device, setting.kept);
    return [&setting, &points, modeller](std::size_t i) { model_point(setting, *modeller, points[i]); };
  });
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

void assess(Fit& fit) {
  std::vector<double> measured, modelled, ratios;
  for (const FitPoint& point : fit.points) {
    if (point.measured_us <= 0) continue;
    if (point.modelled_us <= 0) {
      ++fit.failed;
      continue;
    }
    measured.push_back(point.measured_us);
    modelled.push_back(point.modelled_us);
    ratios.push_back(point.modelled_us / point.measured_us);
  }
  if (measured.size() < 2)
    throw usage_error(fmt::format("{}: fewer than two genomes could be modelled{}", fit.name,
                                  fit.points.empty() ? "" : ": " + fit.points.front().failure));
  fit.spearman = rank_correlation(measured, modelled);
  const auto best = std::min_element(measured.begin(), measured.end()) - measured.begin();
  const auto ahead = std::count_if(modelled.begin(), modelled.end(),
                                   [&](double us) { return us < modelled[static_cast<std::size_t>(best)]; });
  fit.best_share = static_cast<double>(ahead) / static_cast<double>(modelled.size());
  fit.median_ratio = quantile(ratios, 0.5);
  std::vector<double> deviations;
  for (const double ratio : ratios) deviations.push_back(std::abs(std::log(ratio / fit.median_ratio)));
  fit.spread = std::exp(quantile(deviations, 0.5));
}

}  // namespace

Fit fit_of(const SourceTree& tree, const Sweep& sweep, const FitRequest& request) {
  Task task = find_task(tree, sweep.task);
  const DeviceInfo device = resolve_device(request.device.empty() ? virtual_gpu_like(sweep.gpu) : request.device);
  const std::string family = family_of(tree, task, sweep);
  Target target = make_target(task, device.kind, {sweep.shape}, {});
  target.validated = target.timed;
  target.objective.clear();  // A model knows no limits: what errs too much is modelled, too.
  Space space = make_space(tree, task, device, target, family);
  const Setting setting{tree, std::move(task), device, std::move(target), std::move(space), request.kept};

  Fit fit{.name = sweep.name, .family = family, .shape = sweep.shape, .device = device.id};
  std::vector<Sweep::Point> points = draw(sweep, request.skip, request.limit);
  if (request.failed_too) points.insert(points.end(), sweep.failed.begin(), sweep.failed.end());
  for (const Sweep::Point& drawn : points) {
    FitPoint& point = fit.points.emplace_back();
    point.genome = legal_genome(setting.space, drawn, family, point.failure);
    point.measured_us = drawn.measured_us;
  }
  model_points(setting, fit.points);
  assess(fit);
  return fit;
}

std::string fit_csv(const std::vector<Fit>& fits) {
  std::string csv = "sweep,measured_us,modelled_us,registers,spill_bytes,launches,genome,failure,traits\n";
  const auto out = std::back_inserter(csv);
  for (const Fit& fit : fits) {
    const vgpu::DeviceModel& model = vgpu::device_model(fit.device.substr(fit.device.find(':') + 1));
    for (const FitPoint& point : fit.points) {
      std::string launches;
      for (const vgpu::LaunchCost& launch : point.cost.launches)
        fmt::format_to(std::back_inserter(launches),
                       "{}{}={:.3f} launch={:.3f} sm={:.3f} l2={:.3f} memory={:.3f} blocks_per_sm={} "
                       "waves={:.3f} bound={}",
                       launches.empty() ? "" : "; ", launch.kernel, launch.latency_us, launch.launch_us, launch.sm_us,
                       launch.l2_us, launch.memory_us, launch.blocks_per_sm, launch.waves, launch.bound);
      std::string failure = point.failure;
      std::replace(failure.begin(), failure.end(), '"', '\'');
      std::replace(failure.begin(), failure.end(), '\n', ' ');
      fmt::format_to(out, "{},{:.4f},{:.4f},{},{},\"{}\",\"{}\",\"{}\",{:.5g}\n", fit.name, point.measured_us,
                     point.modelled_us, point.build.largest().registers, point.build.largest().spill_bytes, launches,
                     to_text(point.genome), failure,
                     fmt::join(traits_of(vgpu::modelled_launches(model, point.cost)), " "));
    }
  }
  return csv;
}

}  // namespace evo::cli
