#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/space/space.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "population/store/store.h"

namespace evo::cli {

inline constexpr const char* kDefaultDatabase = "runs/evo.db";

/// The request of a command that shows an entry of a database.
struct EntryRequest {
  std::string id;  ///< Of a candidate or a run.
  std::string database = kDefaultDatabase;
  bool json = false;
};

/// The task of that name. Throws usage_error when there is none, with the nearest names, or when the name is empty.
Task find_task(const SourceTree& tree, const std::string& name);

/// The device of that name. When "auto" finds no GPU and takes the virtual one, `notice` gets a line that says why.
DeviceInfo find_device(const std::string& name, std::string* notice = nullptr);

/// The same of the device that was asked for, or else of "auto"; the notice goes to standard error.
DeviceInfo find_device_or_auto(const std::string& asked);
/// The device that was asked for, or else that of a record or one of its model. Throws machine_error without any.
DeviceInfo find_device_or_like(const std::string& asked, const DeviceRecord& record);

/// The devices of a list: "cuda:0,cuda:1", "cuda:all" (all of the kind), "vgpu:h200,vgpu:h200". Throws usage_error for
/// devices of different models, and for a GPU that is named twice: candidates are timed alone on it.
std::vector<DeviceInfo> find_devices(const std::string& list);
/// Throws as it does.
void check_alike(const std::vector<DeviceInfo>& devices);

/// The legal genomes of a task on a device for a target. `family`: only that one; empty: all that the device
/// can run.
Space make_space(const SourceTree& tree, const Task& task, const DeviceInfo& device, const Target& target,
                 const std::string& family);
/// The same with what the space's expressions read, as known_to_space gives it.
Space make_space(const SourceTree& tree, const Task& task, const Bindings& known, const Target& target,
                 const std::string& family);

/// The device's facts and the target's options. A space's expressions read them, as well as genes and specialised
/// parameters.
Bindings known_to_space(const DeviceInfo& device, const Target& target);
Bindings known_to_space(const DeviceRecord& device, const Target& target);

DeviceRecord record_of(const DeviceInfo& device);

/// The device that a record is about, on this machine.
struct FoundDevice {
  DeviceInfo device;
  bool same = true;  ///< The very device; otherwise another one of its model.
};

/// The device of a record: the very one, or else the first of the same model; empty when there is neither. A GPU is
/// known by its uuid, because its number may have changed; a device that computes on the CPU by its id.
std::optional<FoundDevice> find_again(const DeviceRecord& record);
/// The same for a command that takes either; a line on stderr says when it is another device.
std::optional<DeviceInfo> device_like(const DeviceRecord& record);

/// The elites that a filter selects. Throws usage_error when the filter names a task, device or objective that no run
/// in the database has: an empty list would hide the typing error. A database without runs gives an empty list.
std::vector<EliteRow> find_elites(const Store& store, const EliteFilter& filter);

/// The elites of a run's board, the fastest first.
std::vector<EliteRow> elites_of_board(const Store& store, const RunInfo& info);

/// The front of a run's board.
std::vector<EliteRow> front_of_board(const Store& store, const RunInfo& info);

/// Whether a filter's text names the device: by its id, its kind or a part of its name.
bool is_called(const DeviceRecord& device, const std::string& text);

/// Whether a filter's task, device and objective, as far as they are named, are those of a run, or of what was done
/// with its candidates on `device`.
bool is_wanted(const RunInfo& info, const DeviceRecord& device, const EliteFilter& filter);

/// Whether two of a run's information and an elite are of one board: their candidates compete.
template <class A, class B>
bool of_one_board(const A& a, const B& b) {
  return a.task_hash == b.task_hash && a.objective == b.objective && device_key(a.device) == device_key(b.device);
}

/// Throws usage_error when the database holds no such row.
CandidateRow find_candidate(const Store& store, CandidateId id);
RunRow find_run(const Store& store, RunId id);

}  // namespace evo::cli
