#include "evaluator/cuda/throttle.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "evaluator/shared_library.h"

namespace evo::cuda {
namespace {

// The toolkit does not always bring nvml.h; these few declarations are its documented ABI (NVML API
// reference).
using NvmlReturn = int;  // 0: NVML_SUCCESS
using NvmlDevice = void*;

constexpr unsigned long long kHwSlowdown = 0x8;
constexpr unsigned long long kSwThermalSlowdown = 0x20;
constexpr unsigned long long kHwThermalSlowdown = 0x40;
constexpr unsigned long long kHwPowerBrakeSlowdown = 0x80;
constexpr unsigned long long kSlowdowns =
    kHwSlowdown | kSwThermalSlowdown | kHwThermalSlowdown | kHwPowerBrakeSlowdown;

/// A started NVML, shut down with the object.
class Nvml {
 public:
  static std::optional<Nvml> start(std::string* why_not) {
    Nvml nvml;
    std::string why;
    nvml.library_ = SharedLibrary::open("libnvidia-ml.so.1", &why);
    if (!nvml.library_) return absent(why_not, "no NVML: " + why);
    if (!nvml.bind_all()) return absent(why_not, "NVML lacks functions of driver 450 or newer");
    if (const NvmlReturn started = nvml.init_(); started != 0) {
      return absent(why_not, fmt::format("NVML does not start: {}", nvml.error_string_(started)));
    }
    nvml.started_ = true;
    return nvml;
  }
  ~Nvml() {
    if (started_) shutdown_();  // A failure leaves nothing to undo.
  }
  Nvml(Nvml&& other) noexcept { *this = std::move(other); }
  Nvml& operator=(Nvml&& other) noexcept {
    library_ = std::move(other.library_);
    init_ = other.init_;
    shutdown_ = other.shutdown_;
    error_string_ = other.error_string_;
    driver_version_ = other.driver_version_;
    device_by_uuid_ = other.device_by_uuid_;
    clock_reasons_ = other.clock_reasons_;
    started_ = std::exchange(other.started_, false);
    return *this;
  }

  /// Null when there is no such GPU.
  NvmlDevice device(const std::string& uuid) const {
    NvmlDevice device = nullptr;
    return device_by_uuid_(uuid.c_str(), &device) == 0 ? device : nullptr;
  }
  /// Empty when NVML does not tell.
  std::optional<unsigned long long> clock_reasons(NvmlDevice device) const {
    unsigned long long reasons = 0;
    if (clock_reasons_(device, &reasons) != 0) return std::nullopt;
    return reasons;
  }
  std::string driver_version() const {
    std::array<char, 81> version{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE and a zero
    return driver_version_(version.data(), version.size() - 1) == 0 ? version.data() : "";
  }

 private:
  Nvml() = default;

  static std::optional<Nvml> absent(std::string* why_not, const std::string& why) {
    if (why_not != nullptr) *why_not = why;
    return std::nullopt;
  }

  bool bind_all() {
    return library_.bind(init_, "nvmlInit_v2") && library_.bind(shutdown_, "nvmlShutdown") &&
           library_.bind(error_string_, "nvmlErrorString") &&
           library_.bind(driver_version_, "nvmlSystemGetDriverVersion") &&
           library_.bind(device_by_uuid_, "nvmlDeviceGetHandleByUUID") &&
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
  bool started_ = false;
};

class NvmlMonitor final : public ThrottleMonitor {
 public:
  NvmlMonitor(Nvml nvml, NvmlDevice device) : nvml_(std::move(nvml)), device_(device) {}
  bool throttled() override { return (nvml_.clock_reasons(device_).value_or(0) & kSlowdowns) != 0; }

 private:
  Nvml nvml_;
  NvmlDevice device_;
};

}  // namespace

std::unique_ptr<ThrottleMonitor> make_nvml_monitor(const std::string& uuid, std::string* why_not) {
  std::optional<Nvml> nvml = Nvml::start(why_not);
  if (!nvml) return nullptr;
  NvmlDevice device = nvml->device(uuid);
  if (device != nullptr && nvml->clock_reasons(device))
    return std::make_unique<NvmlMonitor>(*std::move(nvml), device);
  if (why_not != nullptr) {
    *why_not =
        device == nullptr ? "NVML knows no GPU " + uuid : "NVML does not tell why clocks change on " + uuid;
  }
  return nullptr;
}

std::string nvml_driver_version(std::string* why_not) {
  const std::optional<Nvml> nvml = Nvml::start(why_not);
  return nvml ? nvml->driver_version() : "";
}

}  // namespace evo::cuda
