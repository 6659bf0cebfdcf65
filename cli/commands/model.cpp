#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/model/cost_report.h"
#include "cli/model/model_fit.h"
#include "cli/model/profile_report.h"
#include "cli/sources/templates.h"
#include "cli/subject/json.h"
#include "cli/subject/restore.h"
#include "cli/text/files.h"
#include "cli/text/scatter_svg.h"
#include "engine/device/device_kind.h"
#include "evaluator/hosts/devices.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kLargestGenomeBytes = 1 << 20;

struct ModelRequest {
  std::string id;
  std::string genome;
  std::string task;
  std::vector<std::string> shapes;
  std::vector<std::string> options;
  bool cold = false;
  bool explained = false;
  std::vector<std::string> sweeps;
  std::string limit;
  std::string skip = "0";
  bool failed_too = false;
  std::string csv;
  std::string svg;
  std::string device;
  std::string kept;
  std::string database = kDefaultDatabase;
  std::string templates;
  bool json = false;
};

// ---- One candidate

struct ModelledSubject {
  std::string origin;  ///< "candidate 17", "genome"
  SourceTree tree;
  Task task;
  Genome genome;
  Target target;
  DeviceInfo device;
  std::vector<Timing> timings;    ///< Measured on a GPU, if it was.
  std::vector<Profile> profiles;  ///< Its counters there, as far as they were read.
};

struct ShapeCost {
  std::string shape;
  Modelled modelled;
  std::optional<double> measured_us;
};

/// The kind whose shapes are modelled: not the virtual GPU's own small ones, but those that a GPU is timed at.
std::string_view modelled_kind(const DeviceInfo& device) {
  const DeviceKind& kind = kind_named(device.kind);
  return kind.models.empty() ? kind.name : kind.models;
}

/// The shapes that were named, else the target's own.
Target narrowed(const Task& task, std::string_view device_kind, Target target, const ModelRequest& request) {
  if (!request.shapes.empty())
    target = make_target(task, device_kind, parse_shapes(task, request.shapes), target.options, target.objective);
  target.validated = target.timed;
  return target;
}

ModelledSubject stored_subject(const ModelRequest& request) {
  const CandidateId id = parse_id("candidate", request.id);
  const Store store = Store::open(request.database, Store::Mode::read);
  Restored restored = restore(store, id);
  const RunInfo& run = restored.run.info;
  ModelledSubject subject;
  subject.origin = fmt::format("candidate {}", id);
  const bool modelled = kind_named(run.device.kind).modelled;
  subject.device = resolve_device(!request.device.empty() ? request.device
                                  : modelled              ? run.device.id
                                                          : virtual_gpu_like(run.device.name));
  subject.target = narrowed(restored.task, modelled_kind(subject.device), run.target, request);
  if (!modelled) {
    subject.timings = restored.row.evaluation.timings;
    for (const Profile& profile : restored.row.evaluation.profiles)
      if (!profile.modelled) subject.profiles.push_back(profile);
  }
  subject.genome = restored.row.genome;
  subject.tree = std::move(restored.files);
  subject.task = std::move(restored.task);
  return subject;
}

ModelledSubject given_subject(const ModelRequest& request) {
  ModelledSubject subject;
  subject.origin = "genome";
  subject.tree = load_templates(request.templates);
  subject.task = find_task(subject.tree, request.task);
  const bool inlined = request.genome.find('{') != std::string::npos;
  subject.genome = genome_from_json(inlined ? request.genome : read_file(request.genome, kLargestGenomeBytes));
  subject.device = resolve_device(request.device.empty() ? vgpu::kKind : request.device);
  const std::string_view kind = modelled_kind(subject.device);
  subject.target = narrowed(subject.task, kind,
                            make_target(subject.task, kind, {}, parse_options(subject.task, request.options)), request);
  subject.target.objective.clear();  // A model knows no limits: what errs too much is modelled, too.
  const Space space = make_space(subject.tree, subject.task, subject.device, subject.target, subject.genome.family);
  if (const auto why = space.why_illegal(subject.genome)) throw usage_error(fmt::format("--genome: {}", *why));
  return subject;
}

Candidate candidate_of(const ModelledSubject& subject) {
  return make_candidate(subject.tree, subject.task, find_family(subject.tree, subject.task, subject.genome.family),
                        subject.genome, subject.target, facts_of(subject.device.limits));
}

/// Their programs are those of the candidate.
std::vector<ShapeCost> costs_of(const ModelledSubject& subject, const Candidate& candidate,
                                const ModelRequest& request) {
  Modeller modeller(subject.task, subject.target, subject.device, request.kept);
  std::vector<ShapeCost> costs;
  for (const Shape& shape : subject.target.timed) {
    auto modelled = modeller.model(candidate, shape, request.cold);
    if (const auto* failure = std::get_if<Failure>(&modelled))
      throw usage_error(fmt::format("{} cannot be modelled at {}: {}", subject.origin, shape.name, failure->reason));
    ShapeCost cost{shape.name, std::get<Modelled>(std::move(modelled)), std::nullopt};
    for (const Timing& timing : subject.timings) {
      if (timing.shape == shape.name && timing.cold == request.cold) cost.measured_us = timing.median_us;
    }
    costs.push_back(std::move(cost));
  }
  return costs;
}

std::string costs_text(const ModelledSubject& subject, const std::vector<ShapeCost>& costs, bool explained,
                       const Terminal& terminal) {
  std::string text = fmt::format("{}: {} on {}\n  {}\n", subject.origin, subject.task.name, subject.device.id,
                                 to_text(subject.genome));
  Table table({"shape", ">modelled us", ">measured us", ">launches", ">registers", "bound by"});
  for (const ShapeCost& cost : costs) {
    const vgpu::PlanCost& plan = cost.modelled.cost;
    const auto longest = std::max_element(plan.launches.begin(), plan.launches.end(),
                                          [](const auto& a, const auto& b) { return a.latency_us < b.latency_us; });
    table.add({cost.shape, microseconds(plan.latency_us), cost.measured_us ? microseconds(*cost.measured_us) : "-",
               std::to_string(plan.launches.size()), std::to_string(cost.modelled.build.largest().registers),
               longest == plan.launches.end() ? "" : longest->bound});
  }
  text += table.text(terminal, 2);
  if (!explained) return text;
  for (const ShapeCost& cost : costs) {
    text += fmt::format("\n{}\n", styled(terminal, Style::bold, cost.shape)) + cost_text(cost.modelled.cost, terminal);
    for (const vgpu::LaunchCost& launch : cost.modelled.cost.launches) {
      const std::string lines = dear_lines_text(launch, *cost.modelled.program, terminal);
      if (!lines.empty()) text += fmt::format("\nthe dearest lines of {}\n{}", launch.kernel, lines);
    }
  }
  const std::string measured = bounds_text(subject.profiles);
  return measured.empty() ? text : text + '\n' + measured;
}

std::string costs_document(const ModelledSubject& subject, const std::vector<ShapeCost>& costs) {
  Json json = json_document("model");
  json["task"] = subject.task.name;
  json["device"] = subject.device.id;
  json["genome"] = genome_json(subject.genome);
  json["shapes"] = Json::array();
  for (const ShapeCost& cost : costs) {
    Json launches = Json::array();
    for (const vgpu::LaunchCost& launch : cost.modelled.cost.launches)
      launches.push_back(launch_cost_json(launch, *cost.modelled.program));
    json["shapes"].push_back({{"shape", cost.shape},
                              {"modelled_us", cost.modelled.cost.latency_us},
                              {"measured_us", or_null(cost.measured_us)},
                              {"registers", cost.modelled.build.largest().registers},
                              {"spill_bytes", cost.modelled.build.largest().spill_bytes},
                              {"launches", launches}});
  }
  return json_text(json);
}

int model_one(const ModelRequest& request) {
  const ModelledSubject subject = request.genome.empty() ? stored_subject(request) : given_subject(request);
  const Candidate candidate = candidate_of(subject);
  const std::vector<ShapeCost> costs = costs_of(subject, candidate, request);
  print("{}", request.json ? costs_document(subject, costs)
                           : costs_text(subject, costs, request.explained, terminal_of(stdout)));
  return kDone;
}

// ---- Recorded sweeps

std::string fits_text(const std::vector<Fit>& fits, const Terminal& terminal) {
  Table table(
      {"sweep", "device", ">genomes", ">failed", ">Spearman", ">ahead of best", ">modelled/measured", ">spread"});
  for (const Fit& fit : fits) {
    table.add({fit.name, fit.device, grouped(std::uint64_t{fit.points.size()}), grouped(std::uint64_t{fit.failed}),
               fmt::format("{:.3f}", fit.spearman), percent(fit.best_share), fmt::format("{:.2f}", fit.median_ratio),
               fmt::format("{:.2f}", fit.spread)});
  }
  return table.text(terminal) +
         "ahead of best: genomes that the model ranks before the one measured fastest; spread: half of the genomes are "
         "within this factor of the median ratio\n";
}

std::string fits_document(const std::vector<Fit>& fits) {
  Json json = json_document("model");
  json["sweeps"] = Json::array();
  for (const Fit& fit : fits) {
    json["sweeps"].push_back({{"name", fit.name},
                              {"device", fit.device},
                              {"family", fit.family},
                              {"shape", fit.shape},
                              {"genomes", fit.points.size()},
                              {"failed", fit.failed},
                              {"spearman", fit.spearman},
                              {"ahead_of_best", fit.best_share},
                              {"median_ratio", fit.median_ratio},
                              {"spread", fit.spread}});
  }
  return json_text(json);
}

/// A plot for each shape, with a series for each family.
std::string fits_svg(const std::vector<Fit>& fits) {
  std::vector<ScatterPlot> plots;
  for (const Fit& fit : fits) {
    auto plot = std::find_if(plots.begin(), plots.end(), [&](const ScatterPlot& p) { return p.title == fit.shape; });
    if (plot == plots.end()) plot = plots.insert(plots.end(), {fit.shape, {}});
    PointSeries& series = plot->series.emplace_back();
    series.name = fit.family;
    series.note = fmt::format("rank correlation {:.2f}", fit.spearman);
    for (const FitPoint& point : fit.points) {
      if (point.modelled_us > 0 && point.measured_us > 0)
        series.points.push_back({point.measured_us, point.modelled_us});
    }
  }
  return scatter_svg(plots, {.x_label = "measured, us", .y_label = "modelled, us"});
}

int compare_with_sweeps(const ModelRequest& request) {
  const SourceTree tree = load_templates(request.templates);
  FitRequest wanted;
  wanted.skip = parse_number("--skip", request.skip);
  if (!request.limit.empty()) wanted.limit = parse_number("--limit", request.limit, 2);
  wanted.failed_too = request.failed_too;
  wanted.device = request.device;
  wanted.kept = request.kept;
  std::vector<Fit> fits;
  for (const std::string& sweep : request.sweeps) fits.push_back(fit_of(tree, read_sweep(sweep), wanted));
  if (!request.csv.empty()) write_file(request.csv, fit_csv(fits));
  if (!request.svg.empty()) write_file(request.svg, fits_svg(fits));
  print("{}", request.json ? fits_document(fits) : fits_text(fits, terminal_of(stdout)));
  return kDone;
}

const std::vector<std::string> kOfOneGenome = {"--task", "--option"};
const std::vector<std::string> kOfOneCandidate = {"--shapes", "--cold", "--explain"};
const std::vector<std::string> kOfSweeps = {"--limit", "--skip", "--failed-too", "--csv", "--svg"};

int model(const ModelRequest& request, const CLI::App& command) {
  const int subjects = !request.id.empty() + !request.genome.empty() + !request.sweeps.empty();
  if (subjects != 1)
    throw usage_error("evo model takes one of a candidate's ID, --genome (with --task), or recorded sweeps --against");
  if (request.genome.empty())
    refuse_options(command, kOfOneGenome, request.id.empty() ? "--against" : "a candidate's ID");
  if (!request.sweeps.empty()) {
    refuse_options(command, kOfOneCandidate, "--against");
    return compare_with_sweeps(request);
  }
  refuse_options(command, kOfSweeps, request.id.empty() ? "--genome" : "a candidate's ID");
  return model_one(request);
}

}  // namespace

void add_model(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "model",
                  "Show where the modelled time of a kernel goes, or compare the cost model with measurements", model);
  add_option(command, "ID", "", request.id, "The candidate's number");
  add_option(command, "--genome", "JSON", request.genome,
             "Model this genome instead of a stored candidate: JSON, or a file that holds it");
  add_option(command, "--task", "TASK", request.task, "With --genome: its task");
  add_option(command, "--shapes", "A,B", request.shapes, "Shapes, as for evo run (default: those that were timed)");
  add_option(command, "--option", "NAME=VALUE", request.options,
             "With --genome: an option of its task; may be repeated");
  command.add_flag("--cold", request.cold, "Start with an empty L2 cache");
  command.add_flag("--explain", request.explained, "Print where the modelled time of each launch goes");
  add_option(command, "--against", "SWEEP", request.sweeps,
             "Compare the model with the latencies of a Kernel Tuner cache; may be repeated");
  add_option(command, "--limit", "N", request.limit,
             "With --against: model N random genomes of each sweep (default: all)");
  add_option(command, "--skip", "N", request.skip,
             "With --against: skip the first N of the random order, those that --limit N would take");
  command.add_flag(
      "--failed-too", request.failed_too,
      "With --against: also model genomes that were built but failed on the GPU (for evo replay --screen)");
  add_option(command, "--csv", "FILE", request.csv,
             "With --against: write each genome with its measured and its modelled latency");
  add_option(command, "--svg", "FILE", request.svg, "With --against: plot modelled over measured latencies");
  add_option(command, "--device", "DEVICE", request.device,
             "vgpu:MODEL (default: the model of the GPU that measured, else vgpu)");
  add_option(command, "--keep", "DIR", request.kept, "Cache compiled programs in this folder");
  add_usual_options(command, request);
}

}  // namespace evo::cli
