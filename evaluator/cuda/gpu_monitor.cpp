#include "evaluator/cuda/gpu_monitor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "evaluator/base/shared_library.h"

namespace evo::cuda {
namespace {

// The toolkit does not always bring nvml.h; these few declarations are its documented ABI (NVML API
// reference).
using NvmlReturn = int;  // 0: NVML_SUCCESS
using NvmlDevice = void*;

constexpr unsigned long long kSwPowerCap = 0x4;
constexpr unsigned long long kHwSlowdown = 0x8;
constexpr unsigned long long kSwThermalSlowdown = 0x20;
constexpr unsigned long long kHwThermalSlowdown = 0x40;
constexpr unsigned long long kHwPowerBrakeSlowdown = 0x80;
constexpr unsigned long long kSlowdowns = kHwSlowdown | kSwThermalSlowdown | kHwThermalSlowdown | kHwPowerBrakeSlowdown;

constexpr int kSmClock = 1;  // nvmlClockType_t
constexpr int kMemoryClock = 2;
constexpr int kGpuTemperature = 0;  // nvmlTemperatureSensors_t
constexpr int kPowerViolation = 0;  // nvmlPerfPolicyType_t

struct NvmlProcess {  // nvmlProcessInfo_t
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct NvmlViolation {  // nvmlViolationTime_t
  unsigned long long at_us;
  unsigned long long lasted_ns;
};
constexpr std::size_t kMostProcesses = 256;  // Far more than a GPU has at once.
/// A device worker and a reference worker.
constexpr int kOwnProcesses = 2;

/// A started NVML, shut down with the object.
class Nvml {
 public:
  /// Null where there is none.
  static std::unique_ptr<Nvml> start(std::string* why_not) {
    std::unique_ptr<Nvml> nvml(new Nvml);
    std::string why;
    nvml->library_ = SharedLibrary::open("libnvidia-ml.so.1", &why);
    if (!nvml->library_) return absent(why_not, "no NVML: " + why);
    if (!nvml->bind_all()) return absent(why_not, "NVML lacks functions of driver 450 or newer");
    if (const NvmlReturn started = nvml->init_(); started != 0) {
      return absent(why_not, fmt::format("NVML does not start: {}", nvml->error_string_(started)));
    }
    nvml->started_ = true;
    return nvml;
  }
  ~Nvml() {
    if (started_) shutdown_();  // A failure leaves nothing to undo.
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Null when there is no such GPU.
  NvmlDevice device(const std::string& uuid) const {
    NvmlDevice device = nullptr;
    return device_by_uuid_(uuid.c_str(), &device) == 0 ? device : nullptr;
  }
  /// Empty when NVML does not report them.
  std::optional<unsigned long long> clock_reasons(NvmlDevice device) const {
    unsigned long long reasons = 0;
    if (clock_reasons_(device, &reasons) != 0) return std::nullopt;
    return reasons;
  }
  /// In MHz; 0 when NVML does not report it.
  int clock(NvmlDevice device, int which) const {
    unsigned mhz = 0;
    return clock_(device, which, &mhz) == 0 ? static_cast<int>(mhz) : 0;
  }
  /// 0 when NVML does not report it.
  int temperature_c(NvmlDevice device) const {
    unsigned celsius = 0;
    return temperature_ != nullptr && temperature_(device, kGpuTemperature, &celsius) == 0 ? static_cast<int>(celsius)
                                                                                           : 0;
  }
  /// For how long power has limited clocks, of all time, in ns; empty when NVML does not report it.
  std::optional<unsigned long long> power_violation(NvmlDevice device) const {
    NvmlViolation violation{};
    if (violation_ == nullptr || violation_(device, kPowerViolation, &violation) != 0) return std::nullopt;
    return violation.lasted_ns;
  }
  /// Numbers of the processes that compute on a GPU; empty when NVML does not report them.
  std::vector<unsigned> processes(NvmlDevice device) const {
    std::array<NvmlProcess, kMostProcesses> found{};
    auto count = static_cast<unsigned>(found.size());
    if (processes_ == nullptr || processes_(device, &count, found.data()) != 0) return {};
    std::vector<unsigned> numbers;
    for (unsigned i = 0; i < count && i < found.size(); ++i) numbers.push_back(found[i].pid);
    return numbers;
  }
  std::string driver_version() const {
    std::array<char, 81> version{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE and a zero
    return driver_version_(version.data(), version.size() - 1) == 0 ? version.data() : "";
  }

 private:
  Nvml() = default;

  static std::unique_ptr<Nvml> absent(std::string* why_not, const std::string& why) {
    if (why_not != nullptr) *why_not = why;
    return nullptr;
  }

  bool bind_all() {
    // Its form is known since driver 510; without it other programs are not noticed.
    if (!library_.bind(processes_, "nvmlDeviceGetComputeRunningProcesses_v3")) processes_ = nullptr;
    if (!library_.bind(violation_, "nvmlDeviceGetViolationStatus")) violation_ = nullptr;  // Not on every GPU.
    if (!library_.bind(temperature_, "nvmlDeviceGetTemperature")) temperature_ = nullptr;
    return library_.bind(init_, "nvmlInit_v2") && library_.bind(shutdown_, "nvmlShutdown") &&
           library_.bind(error_string_, "nvmlErrorString") &&
           library_.bind(driver_version_, "nvmlSystemGetDriverVersion") &&
           library_.bind(device_by_uuid_, "nvmlDeviceGetHandleByUUID") &&
           library_.bind(clock_, "nvmlDeviceGetClockInfo") &&
           // Renamed in driver 535; the older name stays for a while.
           (library_.bind(clock_reasons_, "nvmlDeviceGetCurrentClocksEventReasons") ||
            library_.bind(clock_reasons_, "nvmlDeviceGetCurrentClocksThrottleReasons"));
  }

  SharedLibrary library_;
  NvmlReturn (*init_)() = nullptr;
  NvmlReturn (*shutdown_)() = nullptr;
  const char* (*error_string_)(NvmlReturn) = nullptr;
  NvmlReturn (*driver_version_)(char*, unsigned) = nullptr;
  NvmlReturn (*device_by_uuid_)(const char*, NvmlDevice*) = nullptr;
  NvmlReturn (*clock_reasons_)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlReturn (*clock_)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlReturn (*processes_)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
  NvmlReturn (*violation_)(NvmlDevice, int, NvmlViolation*) = nullptr;
  NvmlReturn (*temperature_)(NvmlDevice, int, unsigned*) = nullptr;
  bool started_ = false;
};

/// The parent of a process; 0 when it cannot be read.
unsigned parent_of(unsigned process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  // "PID (NAME) STATE PARENT ...", and a name may hold anything.
  const std::size_t end = text.rfind(')');
  unsigned parent = 0;
  if (end != std::string::npos) std::sscanf(text.c_str() + end + 1, " %*c %u", &parent);
  return parent;
}

/// Workers are children of one process, which may compute itself.
bool is_ours(unsigned process) {
  const auto parent = static_cast<unsigned>(getppid());
  return process == static_cast<unsigned>(getpid()) || process == parent ||
         (parent > 1 && parent_of(process) == parent);
}

class NvmlMonitor final : public GpuMonitor {
 public:
  NvmlMonitor(std::unique_ptr<Nvml> nvml, NvmlDevice device)
      : nvml_(std::move(nvml)), device_(device), power_violation_(nvml_->power_violation(device)) {}
  GpuClocks clocks() override {
    const unsigned long long reasons = nvml_->clock_reasons(device_).value_or(0);
    const auto before = std::exchange(power_violation_, nvml_->power_violation(device_));
    return {.throttled = (reasons & kSlowdowns) != 0,
            .power_limited = before && power_violation_ ? *power_violation_ > *before : (reasons & kSwPowerCap) != 0,
            .sm_mhz = nvml_->clock(device_, kSmClock),
            .memory_mhz = nvml_->clock(device_, kMemoryClock),
            .temperature_c = nvml_->temperature_c(device_)};
  }
  int other_processes() override { return count_others(nvml_->processes(device_), is_ours); }

 private:
  std::unique_ptr<Nvml> nvml_;
  NvmlDevice device_;
  std::optional<unsigned long long> power_violation_;
};

}  // namespace

std::unique_ptr<GpuMonitor> make_nvml_monitor(const std::string& uuid, std::string* why_not) {
  std::unique_ptr<Nvml> nvml = Nvml::start(why_not);
  if (!nvml) return nullptr;
  NvmlDevice device = nvml->device(uuid);
  if (device != nullptr && nvml->clock_reasons(device)) return std::make_unique<NvmlMonitor>(std::move(nvml), device);
  if (why_not != nullptr) {
    *why_not = device == nullptr ? "NVML knows no GPU " + uuid : "NVML does not report why clocks change on " + uuid;
  }
  return nullptr;
}

int count_others(std::span<const unsigned> processes, const std::function<bool(unsigned)>& ours) {
  const auto known = std::ranges::count_if(processes, ours);
  const auto all = static_cast<int>(processes.size());
  return known > 0 ? all - static_cast<int>(known) : std::max(0, all - kOwnProcesses);
}

std::string nvml_driver_version(std::string* why_not) {
  const std::unique_ptr<Nvml> nvml = Nvml::start(why_not);
  return nvml ? nvml->driver_version() : "";
}

}  // namespace evo::cuda
