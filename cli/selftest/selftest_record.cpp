#include "cli/selftest/selftest_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/subject/lookup.h"
#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/expression/json_place.h"
#include "engine/task/mutant.h"

namespace evo::cli {
namespace {

std::string pass_file(const std::string& task, const std::string& device_kind) {
  return fmt::format("{}/mutants/passed/{}.json", task, device_kind);
}

}  // namespace

SelftestRecord record_of(const SelftestResult& result, const std::string& nvrtc_version) {
  return {.task = result.task,
          .task_hash = result.task_hash,
          .device = record_of(result.device),
          .passed = result.passed(),
          .judged = result.checked(),
          .wrong = result.wrong(),
          .salt = result.salt,
          .evo_version = EVO_VERSION,
          .nvrtc_version = nvrtc_version};
}

std::filesystem::path write_pass(const std::filesystem::path& templates, const SelftestRecord& record) {
  if (!record.passed) throw usage_error(fmt::format("task {} has not passed: nothing to record", record.task));
  const nlohmann::ordered_json json = {{"task_hash", record.task_hash},
                                       {"device", record.device.name},
                                       {"driver", record.device.driver},
                                       {"judged", record.judged},
                                       {"salt", fmt::format("{:016x}", record.salt)},
                                       {"evo_version", record.evo_version},
                                       {"nvrtc_version", record.nvrtc_version}};
  const std::filesystem::path file = templates / pass_file(record.task, record.device.kind);
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw machine_error(fmt::format("cannot make {}: {}", file.parent_path().string(), error.message()));
  write_file(file, json.dump(2) + "\n");
  return file;
}

bool ships_pass(const SourceTree& tree, const Task& task, const std::string& device_kind) {
  const std::string file = pass_file(task.name, device_kind);
  if (!tree.contains(file)) return false;
  return JsonPlace::read(tree, file).at("task_hash").text() == task.hash;
}

std::string selftest_warning(const Store& store, const SourceTree& tree, const Task& task, const DeviceInfo& device) {
  const std::optional<SelftestRecord> last = store.last_selftest(task.hash, device.kind);
  const std::string command = fmt::format("evo selftest --task {} --device {}", task.name, device.id);
  if (last && !last->passed) {
    return fmt::format("{} failed its self-test ({} of {} verdicts wrong): wrong kernels may win ({})", task.name,
                       last->wrong, last->judged, command);
  }
  if (last || ships_pass(tree, task, device.kind)) return "";
  if (load_mutants(tree, task).empty()) {
    return fmt::format("no self-test; run evo selftest --task {} --generate 40", task.name);
  }
  return fmt::format("{} has not passed its self-test on {}, or has changed since: {} does it", task.name,
                     kind_named(device.kind).title, command);
}

}  // namespace evo::cli
