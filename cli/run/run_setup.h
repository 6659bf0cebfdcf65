#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/run_options.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "evaluator/hosts/helping_host.h"
#include "population/store/store.h"

namespace evo::cli {

/// Those that are wanted of each host, as find_devices takes them.
std::string device_list(const RunRequest& request);

/// A run that is ready to start: a new one, or one that is resumed.
struct PreparedRun {
  RunInfo info;
  Task task;
  DeviceInfo device;
  std::vector<DeviceInfo> further_devices;    ///< Of the same model.
  std::vector<std::string> hosts;             ///< The prefixes that its hosts were asked for by.
  std::vector<std::string> absent_hosts;      ///< Of these, those that are of no use now.
  std::vector<OtherHost> other_hosts;         ///< Those that are, beside this one.
  std::size_t presearch = 0;                  ///< Genomes that a pre-search models before a new run begins.
  std::vector<std::vector<Seed>> warm_start;  ///< The best genomes of other runs, for a new run, by ranking.
  std::string notice;                         ///< For people, before it starts.
  SourceTree templates;                       ///< Those of a new run, its task's mutants among them.
  std::optional<RunId> resumed;
  std::uint64_t recalled = 0;  ///< Stored answers of the resumed run.
  std::optional<std::chrono::milliseconds> time_limit;
};

/// Whether the cost model guides a run.
bool is_guided(const PreparedRun& run);

/// Throws usage_error for a wrong argument and machine_error for a device that is not there.
PreparedRun prepare_new(const RunRequest& request, const std::string& command_line);

/// Takes its settings from the database. Throws usage_error when there is no such run or an argument would change them,
/// and machine_error when its GPU is not in this machine.
PreparedRun prepare_resumed(const RunRequest& request);

}  // namespace evo::cli
