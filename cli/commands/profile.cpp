#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/model/modeller.h"
#include "cli/model/profile_report.h"
#include "cli/subject/claim.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/random.h"
#include "evaluator/hosts/devices.h"
#include "evaluator/pipeline/profiler.h"

namespace evo::cli {
namespace {

using Profiles = std::vector<Profile>;

struct ProfileRequest {
  std::string subject;
  std::string device;
  std::vector<std::string> shapes;
  std::string database = kDefaultDatabase;
  bool json = false;
};

/// A kernel whose counters are read.
struct ProfiledKernel {
  Claim claim;
  std::uint64_t salt = 0;
  std::optional<CandidateId> id;  ///< Of a stored candidate.
  Profiles measured;              ///< What was read of it before.
};

struct Profiled {
  std::string origin;
  std::string task;
  std::string device, device_name;
  Profiles profiles;  ///< Measured ones, modelled ones, or both.
};

// ---- Whose counters, and where

std::vector<ProfiledKernel> profiled_kernels(const ProfileRequest& request) {
  if (!is_candidate_id(request.subject)) {
    std::vector<ProfiledKernel> kernels;
    for (Claim& claim : exported_claims(request.subject)) kernels.push_back({std::move(claim), fresh_salt(), {}, {}});
    return kernels;
  }
  const CandidateId id = parse_id("candidate", request.subject);
  const Restored restored = restore(Store::open(request.database, Store::Mode::read), id);
  if (!was_built(restored.row.evaluation.verdict))
    throw usage_error(fmt::format("candidate {} has no kernel to profile: it is {} ({})", id,
                                  name_of(restored.row.evaluation.verdict), reason_text(restored.row.evaluation)));
  Profiles measured = restored.row.evaluation.profiles;
  std::erase_if(measured, [](const Profile& profile) { return profile.modelled; });
  return {{claim_of(restored), restored.row.evaluation.salt, id, std::move(measured)}};
}

Profiles read_counters(const ProfiledKernel& kernel, const DeviceInfo& device, const Target& target) {
  const Claim& claim = kernel.claim;
  const PipelineOptions options{
      .task = claim.task, .tree = claim.tree, .target = target, .device = device, .salt = kernel.salt};
  Profiler profiler(options);
  Profiler::Result result = profiler.profile(candidate_of(claim, target));
  if (const auto* failure = std::get_if<Failure>(&result))
    throw usage_error(fmt::format("{} cannot be profiled on {}: {}", claim.origin, device.id, failure->reason));
  return std::get<Profiles>(std::move(result));
}

/// Empty, with the reason on stderr, where they may not be read.
Profiles measured_counters(const ProfiledKernel& kernel, const DeviceInfo& device, const Target& target) {
  try {
    return read_counters(kernel, device, target);
  } catch (const Error& error) {
    if (error.fault() == Fault::usage) throw;
    write_to_stderr(fmt::format("{}\n", error.what()));
    return {};
  }
}

/// Of the shapes that are wanted, those that were read before.
Profiles kept_counters(const ProfiledKernel& kernel, const Target& target) {
  const DeviceRecord& device = kernel.claim.device;
  Profiles kept = kernel.measured;
  std::erase_if(kept, [&](const Profile& one) {
    return std::ranges::find(target.timed, one.shape, &Shape::name) == target.timed.end();
  });
  write_to_stderr(fmt::format("this machine has no {}: {}\n", device.name,
                              kept.empty() ? "the counters are modelled" : "what is measured was read before"));
  return kept;
}

/// Measured where there are counters that may be read, or were read before; modelled where a virtual GPU is like the
/// device.
Profiled profile(const ProfiledKernel& kernel, const ProfileRequest& request) {
  const Claim& claim = kernel.claim;
  Target target = claim.target;
  if (!request.shapes.empty())
    target = make_target(claim.task, claim.device.kind, parse_shapes(claim.task, request.shapes), target.options,
                         target.objective);
  target.validated = target.timed;
  const std::optional<DeviceInfo> here =
      request.device.empty() ? device_like(claim.device) : find_device(request.device);
  Profiled profiled{
      claim.origin, claim.task.name, here ? here->id : claim.device.id, here ? here->name : claim.device.name, {}};
  std::optional<std::string> model = find_virtual_gpu_like(profiled.device_name);
  if (!here)
    profiled.profiles = kept_counters(kernel, target);
  else if (kind_named(here->kind).modelled)
    model = here->id;
  else
    profiled.profiles = measured_counters(kernel, *here, target);
  if (model)
    std::ranges::move(read_counters(kernel, resolve_device(*model), target), std::back_inserter(profiled.profiles));
  if (profiled.profiles.empty())
    throw machine_error(fmt::format("{} has no counters, and no virtual GPU is like it", profiled.device_name));
  return profiled;
}

/// Kept with the candidate.
void store_profiles(const ProfileRequest& request, CandidateId id, const Profiled& profiled) {
  Store store = Store::open(request.database, Store::Mode::change);
  for (const Profile& one : profiled.profiles) store.record_profile(id, one);
}

// ---- What is shown

std::string profiled_text(const Profiled& profiled, const Terminal& terminal) {
  std::string text;
  for (const ShapeProfile& shape : by_shape(profiled.profiles))
    text += fmt::format("{}: {} at {} on {} ({})\n{}", profiled.origin, profiled.task, shape.shape, profiled.device,
                        profiled.device_name, profile_text(shape, terminal));
  return text;
}

std::string profiled_document(const std::vector<Profiled>& all) {
  Json json = json_document("profile");
  json["kernels"] = Json::array();
  for (const Profiled& profiled : all)
    json["kernels"].push_back({{"origin", profiled.origin},
                               {"task", profiled.task},
                               {"device", {{"id", profiled.device}, {"name", profiled.device_name}}},
                               {"shapes", profiles_json(profiled.profiles)}});
  return json_text(json);
}

int profile_all(const ProfileRequest& request) {
  std::vector<Profiled> all;
  for (const ProfiledKernel& kernel : profiled_kernels(request)) {
    all.push_back(profile(kernel, request));
    if (kernel.id) store_profiles(request, *kernel.id, all.back());
    if (!request.json) print("{}", profiled_text(all.back(), terminal_of(stdout)));
  }
  if (request.json) print("{}", profiled_document(all));
  return kDone;
}

}  // namespace

void add_profile(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(app, invocation, "profile",
                                        "Read the hardware counters of a kernel and say what bounds it", profile_all);
  add_option(command, "ID|FILE.cu", "", request.subject, "A candidate's number, or an exported file")->required();
  add_option(command, "--device", "DEVICE", request.device,
             "Run on this device (default: the kernel's own, or one of its model, else its virtual GPU)");
  add_option(command, "--shapes", "A,B", request.shapes, "Shapes, as for evo run (default: those that were timed)");
  add_usual_options(command, request);
}

}  // namespace evo::cli
