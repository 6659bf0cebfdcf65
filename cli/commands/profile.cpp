#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/model/modeller.h"
#include "cli/model/profile_report.h"
#include "cli/subject/arguments.h"
#include "cli/subject/claim.h"
#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/exit_code.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/random.h"
#include "evaluator/pipeline/devices.h"
#include "evaluator/pipeline/profiler.h"

namespace evo::cli {
namespace {

using Json = nlohmann::ordered_json;
using Profiles = std::vector<Profile>;

struct Request {
  std::string subject;
  std::string device;
  std::vector<std::string> shapes;
  std::string database = kDefaultDatabase;
  bool json = false;
};

/// A kernel whose counters are read.
struct Subject {
  Claim claim;
  std::uint64_t salt = 0;
  std::optional<CandidateId> id;  ///< Of a stored candidate.
};

struct Profiled {
  std::string origin;
  std::string task;
  DeviceInfo device;
  Profiles profiles;  ///< Measured ones, modelled ones, or both.
};

// ---- Whose counters, and where

std::vector<Subject> subjects_of(const Request& request) {
  if (!is_candidate_id(request.subject)) {
    std::vector<Subject> subjects;
    for (Claim& claim : exported_claims(request.subject)) subjects.push_back({std::move(claim), fresh_salt(), {}});
    return subjects;
  }
  const CandidateId id = parse_id("candidate", request.subject);
  const Restored restored = restore(Store::open(request.database, Store::Mode::read), id);
  if (!was_built(restored.row.evaluation.verdict))
    throw usage_error(fmt::format("candidate {} has no kernel to profile: it is {} ({})", id,
                                  name_of(restored.row.evaluation.verdict), restored.row.evaluation.reason));
  return {{claim_of(restored), restored.row.evaluation.salt, id}};
}

/// The device that was asked for, else the claim's own or one of its model, else the virtual GPU like it.
DeviceInfo device_for(const Claim& claim, const std::string& asked) {
  if (!asked.empty()) return find_device(asked);
  if (const std::optional<FoundDevice> found = find_again(claim.device)) {
    if (const std::string notice = notice_of(*found, claim.device); !notice.empty()) write_to_stderr(notice + "\n");
    return found->device;
  }
  const DeviceInfo like = resolve_device(virtual_gpu_like(claim.device.name));
  write_to_stderr(
      fmt::format("this machine has no {}: the counters are modelled, those of {}\n", claim.device.name, like.id));
  return like;
}

Profiles read_counters(const Subject& subject, const DeviceInfo& device, const Target& target) {
  const Claim& claim = subject.claim;
  PipelineOptions options;
  options.task = claim.task;
  options.tree = claim.tree;
  options.target = target;
  options.device = device;
  options.salt = subject.salt;
  Profiler profiler(options);
  Profiler::Result result = profiler.profile(
      with_plans(claim.tree, claim.task, claim.family, claim.genome, claim.programs, target, claim.device.facts));
  if (const auto* failure = std::get_if<Failure>(&result))
    throw usage_error(fmt::format("{} cannot be profiled on {}: {}", claim.origin, device.id, failure->reason));
  return std::get<Profiles>(std::move(result));
}

/// Measured where the device has counters that may be read; modelled where a virtual GPU is like the device.
Profiled profile(const Subject& subject, const Request& request) {
  const Claim& claim = subject.claim;
  const DeviceInfo device = device_for(claim, request.device);
  Target target = claim.target;
  if (!request.shapes.empty())
    target = make_target(claim.task, claim.device.kind, parse_shapes(claim.task, request.shapes), target.options,
                         target.objective);
  target.validated = target.timed;
  Profiled profiled{claim.origin, claim.task.name, device, {}};
  std::optional<std::string> model = device.id;
  if (!kind_named(device.kind).modelled) {
    try {
      profiled.profiles = read_counters(subject, device, target);
    } catch (const Error& error) {
      if (error.fault() == Fault::usage) throw;
      write_to_stderr(fmt::format("{}\n", error.what()));
    }
    model = find_virtual_gpu_like(device.name);
  }
  if (model)
    std::ranges::move(read_counters(subject, resolve_device(*model), target), std::back_inserter(profiled.profiles));
  if (profiled.profiles.empty())
    throw machine_error(fmt::format("{} has no counters, and no virtual GPU is like it", device.id));
  return profiled;
}

/// Kept with the candidate.
void store_profiles(const Request& request, CandidateId id, const Profiled& profiled) {
  Store store = Store::open(request.database, Store::Mode::change);
  for (const Profile& one : profiled.profiles) store.record_profile(id, one);
}

// ---- What is shown

std::string profiled_text(const Profiled& profiled, const Terminal& terminal) {
  std::string text;
  for (const ShapeProfile& shape : by_shape(profiled.profiles))
    text += fmt::format("{}: {} at {} on {} ({})\n{}", profiled.origin, profiled.task, shape.shape, profiled.device.id,
                        profiled.device.name, profile_text(shape, terminal));
  return text;
}

std::string profiled_document(const std::vector<Profiled>& all) {
  Json json = json_document("profile");
  json["kernels"] = Json::array();
  for (const Profiled& profiled : all)
    json["kernels"].push_back({{"origin", profiled.origin},
                               {"task", profiled.task},
                               {"device", device_json(profiled.device)},
                               {"shapes", profiles_json(profiled.profiles)}});
  return json_text(json);
}

int profile_all(const Request& request) {
  std::vector<Profiled> all;
  for (const Subject& subject : subjects_of(request)) {
    all.push_back(profile(subject, request));
    if (subject.id) store_profiles(request, *subject.id, all.back());
    if (!request.json) fmt::print("{}", profiled_text(all.back(), terminal_of(stdout)));
  }
  if (request.json) fmt::print("{}", profiled_document(all));
  return kDone;
}

}  // namespace

void add_profile(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("profile", "Read the hardware counters of a kernel and say what bounds it");
  command->add_option("ID|FILE.cu", request->subject, "A candidate's number, or an exported file")
      ->required()
      ->type_name("");
  command
      ->add_option("--device", request->device,
                   "Run on this device (default: the kernel's own, or one of its model, else the virtual GPU like it)")
      ->type_name("DEVICE");
  command->add_option("--shapes", request->shapes, "Shapes, as for evo run (default: those that were timed)")
      ->allow_extra_args(false)
      ->type_name("A,B");
  add_database_option(*command, request->database);
  add_json_flag(*command, request->json);
  command->callback([request, &invocation] { invocation.action = [request] { return profile_all(*request); }; });
}

}  // namespace evo::cli
