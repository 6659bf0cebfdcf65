#include "cli/subject/lookup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "cli/subject/self_consistency.h"
#include "cli/text/streams.h"
#include "cli/text/suggest.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/task/error_context.h"
#include "engine/task/scope.h"
#include "evaluator/hosts/devices.h"

namespace evo::cli {

Task find_task(const SourceTree& tree, const std::string& name) {
  const std::vector<std::string> names = task_names(tree);
  if (name.empty()) throw usage_error(fmt::format("--task is missing (there are: {})", fmt::join(names, ", ")));
  if (std::find(names.begin(), names.end(), name) == names.end()) throw unknown_name("task", name, names);
  return load_task(tree, name);
}

DeviceInfo find_device(const std::string& name, std::string* notice) {
  DeviceInfo device = resolve_device(name);
  if (notice != nullptr && name == "auto" && kind_named(device.kind).modelled) {
    std::string reason;  // Of the kind that would have come first.
    device_backends().front().list(&reason);
    *notice = fmt::format("no CUDA GPU{}: using the virtual GPU {}; latencies are modelled",
                          reason.empty() ? "" : fmt::format(" ({})", reason), device.id);
  }
  return device;
}

namespace {

/// The devices that KIND:all names.
std::vector<DeviceInfo> all_of_kind(const std::string& kind) {
  for (const DeviceBackend& backend : device_backends()) {
    if (backend.kind.name != kind) continue;
    std::string why;
    std::vector<DeviceInfo> devices = backend.list(&why);
    if (devices.empty()) throw machine_error(fmt::format("{}:all: {}", kind, why));
    return devices;
  }
  throw usage_error(fmt::format("'{}:all': there are {}", kind, fmt::join(kind_names(), ", ")));
}

}  // namespace

DeviceInfo find_device_or_auto(const std::string& asked) {
  std::string notice;
  DeviceInfo device = find_device(asked.empty() ? "auto" : asked, &notice);
  if (!notice.empty()) write_to_stderr(notice + "\n");
  return device;
}

DeviceInfo find_device_or_like(const std::string& asked, const DeviceRecord& record) {
  if (!asked.empty()) return find_device(asked);
  if (const std::optional<DeviceInfo> device = device_like(record)) return *device;
  throw machine_error(fmt::format("{} is not in this machine: --device names another one", record.name));
}

std::vector<DeviceInfo> find_devices(const std::string& list) {
  constexpr std::string_view kAll = ":all";
  std::vector<DeviceInfo> devices;
  for (const std::string& name : split(list, ',')) {
    if (name.ends_with(kAll)) {
      for (DeviceInfo& device : all_of_kind(name.substr(0, name.size() - kAll.size())))
        devices.push_back(std::move(device));
    } else {
      devices.push_back(resolve_device(name));
    }
  }
  check_alike(devices);
  return devices;
}

void check_alike(const std::vector<DeviceInfo>& devices) {
  for (std::size_t i = 1; i < devices.size(); ++i) {
    const DeviceInfo& device = devices[i];
    if (device_key(record_of(device)) != device_key(record_of(devices[0]))) {
      throw usage_error(fmt::format("{} is {} and {} is {}: a run takes devices of one model, name those",
                                    called(devices[0]), devices[0].name, called(device), device.name));
    }
    const auto same = [&](const DeviceInfo& other) { return other.uuid == device.uuid; };
    if (!kind_named(device.kind).on_host && std::any_of(devices.begin(), devices.begin() + static_cast<long>(i), same))
      throw usage_error(fmt::format("{} is named twice: candidates are timed alone on a GPU", called(device)));
  }
}

Bindings known_to_space(const DeviceInfo& device, const Target& target) {
  return known_to_space(record_of(device), target);
}

Bindings known_to_space(const DeviceRecord& device, const Target& target) {
  const Bindings known = joined(device.facts, target.options);
  return known;
}

/// A family serves every shape of a run or none.
void drop_unfit(std::vector<Family>& families, const Bindings& known, const Target& target) {
  std::string reasons;
  const auto unfit = [&](const Family& family) {
    for (const auto* shapes : {&target.timed, &target.validated}) {
      for (const Shape& shape : *shapes) {
        const Bindings with_shape = joined(known, shape.parameters);
        if (may_serve(family, with_shape)) continue;
        reasons += fmt::format("{}{}: requires: shape {} does not meet '{}'", reasons.empty() ? "" : "; ",
                               file_of(family), shape.name, family.legal.text());
        return true;
      }
    }
    return false;
  };
  const std::size_t all = families.size();
  std::erase_if(families, unfit);
  if (families.empty() && all > 0) throw usage_error(reasons);
}

Space make_space(const SourceTree& tree, const Task& task, const DeviceInfo& device, const Target& target,
                 const std::string& family) {
  return make_space(tree, task, known_to_space(device, target), target, family);
}

Space make_space(const SourceTree& tree, const Task& task, const Bindings& known, const Target& target,
                 const std::string& family) {
  std::vector<Family> families = load_families(tree, task);
  if (!family.empty()) {
    const auto chosen = std::ranges::find(families, family, &Family::name);
    if (chosen == families.end())
      throw unknown_name("family", family, names_of(families), fmt::format("of task {}", task.name));
    families = {Family(*chosen)};
  }
  drop_unfit(families, known, target);
  for (Family& each : families) keep_constraints_of(target, each);
  return Space(std::move(families), known, specialisations_of(task, target));
}

DeviceRecord record_of(const DeviceInfo& device) {
  return {.id = device.id,
          .kind = device.kind,
          .name = device.name,
          .arch = device.arch,
          .uuid = device.uuid,
          .driver = device.driver,
          .facts = facts_of(device.limits)};
}

std::optional<FoundDevice> find_again(const DeviceRecord& record) {
  if (kind_named(record.kind).on_host) return FoundDevice{resolve_device(record.id)};
  std::optional<FoundDevice> alike;
  for (const DeviceInfo& device : all_devices()) {
    if (device_key(record_of(device)) != device_key(record)) continue;
    if (device.uuid == record.uuid) return FoundDevice{device};
    if (!alike) alike = FoundDevice{device, false};
  }
  return alike;
}

std::optional<DeviceInfo> device_like(const DeviceRecord& record) {
  const std::optional<FoundDevice> found = find_again(record);
  if (!found) return std::nullopt;
  if (!found->same && !record.uuid.empty())
    write_to_stderr(fmt::format("{} ({}) is not in this machine: using {}, another {}\n", record.name, record.uuid,
                                found->device.id, record.name));
  return found->device;
}

namespace {

/// Throws usage_error for a name that is not among those in use.
void check_known(std::string_view what, const std::string& name, std::vector<std::string> known, const Store& store) {
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (name.empty() || known.empty() || std::binary_search(known.begin(), known.end(), name)) return;
  throw unknown_name(what, name, known, fmt::format("in {}", store.path().string()));
}

/// Whether a filter's text is an objective or the first words of one.
bool begins_one(const std::string& text, const std::vector<std::string>& objectives) {
  return std::any_of(objectives.begin(), objectives.end(),
                     [&](const std::string& objective) { return (objective + " ").starts_with(text + " "); });
}

}  // namespace

bool is_called(const DeviceRecord& device, const std::string& text) {
  const auto alike = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return device.id == text || device.kind == text || !std::ranges::search(device.name, text, alike).empty();
}

bool is_wanted(const RunInfo& info, const DeviceRecord& device, const EliteFilter& filter) {
  return (filter.task.empty() || info.task == filter.task) &&
         (filter.device.empty() || is_called(device, filter.device)) &&
         (filter.objective.empty() || begins_one(filter.objective, {info.objective}));
}

std::vector<EliteRow> find_elites(const Store& store, const EliteFilter& filter) {
  std::vector<std::string> tasks, devices, objectives;
  // A kind of device without runs is no typing error.
  bool device_known = find_kind(filter.device) != nullptr;
  for (const RunRow& run : store.runs()) {
    tasks.push_back(run.info.task);
    devices.push_back(run.info.device.id);
    device_known = device_known || is_called(run.info.device, filter.device);
    objectives.push_back(run.info.objective);
  }
  check_known("task", filter.task, std::move(tasks), store);
  if (!device_known) check_known("device", filter.device, std::move(devices), store);
  if (!begins_one(filter.objective, objectives)) {
    check_known("objective", filter.objective, std::move(objectives), store);
  }
  std::vector<EliteRow> rows = store.elites(filter);
  mark_self_consistent(store, rows);
  return rows;
}

namespace {

EliteFilter about(const RunInfo& info) {
  return {.task = info.task, .objective = info.objective, .task_hash = info.task_hash};
}

std::vector<EliteRow> of_its_board(std::vector<EliteRow> rows, const RunInfo& info) {
  std::erase_if(rows, [&](const EliteRow& row) { return !of_one_board(row, info); });
  return rows;
}

}  // namespace

std::vector<EliteRow> elites_of_board(const Store& store, const RunInfo& info) {
  return of_its_board(store.elites(about(info)), info);
}

std::vector<EliteRow> front_of_board(const Store& store, const RunInfo& info) {
  return of_its_board(store.front(about(info)), info);
}

CandidateRow find_candidate(const Store& store, CandidateId id) {
  std::optional<CandidateRow> row = store.candidate(id);
  if (!row) {
    throw usage_error(
        fmt::format("no candidate {} in {}: evo elites lists the best, evo runs the runs", id, store.path().string()));
  }
  return *std::move(row);
}

RunRow find_run(const Store& store, RunId id) {
  std::optional<RunRow> row = store.run(id);
  if (!row) throw usage_error(fmt::format("no run {} in {}: evo runs lists them", id, store.path().string()));
  return *std::move(row);
}

}  // namespace evo::cli
