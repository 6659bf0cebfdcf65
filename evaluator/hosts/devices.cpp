#include "evaluator/hosts/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/cuda/cuda_backend.h"
#include "evaluator/hosts/helping_server.h"
#include "evaluator/vgpu/virtual_backend.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/remote_link.h"
#include "evaluator/worker/worker.h"

namespace evo {
namespace {

/// A function that is missing would only be noticed by the first who calls it.
void require_whole(const DeviceBackend& backend) {
  if (!backend.list || !backend.find || !backend.open || !backend.open_compiler || !backend.examine)
    throw std::logic_error(fmt::format("the kind of devices '{}' lacks a function", backend.kind.name));
}

/// A shell gives none to what it starts.
bool has_worker_socket() {
  struct stat found {};
  return ::fstat(kWorkerSocket, &found) == 0 && S_ISSOCK(found.st_mode);
}

/// The kinds of devices that evo ships. A kind is its folder and its line here.
std::vector<DeviceBackend> shipped_backends() {
  std::vector<DeviceBackend> backends = {cuda::device_backend(), vgpu::device_backend()};
  for (const DeviceBackend& backend : backends) {
    require_whole(backend);
    register_device_kind(backend.kind);
  }
  return backends;
}

std::vector<DeviceBackend>& registry() {
  static std::vector<DeviceBackend> backends = shipped_backends();
  return backends;
}

/// "cuda:0" is the kind "cuda" and the name "0"; "vgpu" has an empty name.
struct DeviceId {
  std::string_view kind;
  std::string_view name;
};

DeviceId parts_of(std::string_view id) {
  const std::size_t colon = id.find(':');
  if (colon == std::string_view::npos) return {id, ""};
  return {id.substr(0, colon), id.substr(colon + 1)};
}

const DeviceBackend& backend_of(std::string_view id) {
  const auto found = std::ranges::find(
      registry(), parts_of(id).kind, [](const DeviceBackend& backend) { return std::string_view(backend.kind.name); });
  if (found != registry().end()) return *found;
  std::vector<std::string> usages = {"auto"};
  for (const DeviceBackend& backend : registry()) usages.push_back(backend.usage);
  throw usage_error(fmt::format("'{}' is no device: there are {}", id, fmt::join(usages, ", ")));
}

}  // namespace

void register_device_backend(DeviceBackend backend) {
  std::vector<DeviceBackend>& backends = registry();  // The shipped kinds come first.
  require_whole(backend);
  register_device_kind(backend.kind);
  backends.push_back(std::move(backend));
}

const std::vector<DeviceBackend>& device_backends() {
  return registry();
}

std::vector<DeviceInfo> all_devices() {
  std::vector<DeviceInfo> devices;
  for (const DeviceBackend& backend : registry()) std::ranges::move(backend.list(nullptr), std::back_inserter(devices));
  return devices;
}

DeviceInfo resolve_device(std::string_view name) {
  if (name == "auto") {
    for (const DeviceBackend& backend : registry()) {
      if (const std::vector<DeviceInfo> devices = backend.list(nullptr); !devices.empty()) return devices.front();
    }
  }
  return backend_of(name).find(parts_of(name).name);
}

std::unique_ptr<Device> open_device(const std::string& id, int threads) {
  return backend_of(id).open(parts_of(id).name, threads);
}

std::unique_ptr<Compiler> open_compiler(std::string_view kind) {
  return backend_of(kind).open_compiler();
}

int worker_main(const std::vector<std::string>& arguments) {
  if (!is_link_end(arguments) && !has_worker_socket()) {
    std::fputs("evo: 'worker' is for evo alone, which starts its workers itself: evo --help lists the commands\n",
               stderr);
    return 2;
  }
  if (is_helping_role(arguments)) return serve_helping(arguments, {});
  return serve_worker(arguments, {open_device, open_compiler});
}

}  // namespace evo

/// Registers them before main begins. C linkage, because the linker is given this name: every program that links the
/// evaluator has them, whatever else of this file it uses (evaluator/CMakeLists.txt).
extern "C" {
extern const bool evo_ships_device_kinds;
const bool evo_ships_device_kinds = !evo::device_backends().empty();
}
