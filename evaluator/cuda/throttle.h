#pragma once

#include <memory>
#include <string>

namespace evo::cuda {

/// Tells whether a GPU has lowered its clocks. Implementations: NVML, fakes.
class ThrottleMonitor {
 public:
  virtual ~ThrottleMonitor() = default;
  virtual bool throttled() = 0;
};

/// Watches the GPU of this UUID through NVML (libnvidia-ml.so.1), found at run time. Null without it;
/// `why_not` then says why in one line. Thermal, power-brake and hardware slowdowns count; the power cap does
/// not: under tensor-core load it is where a GPU runs all day.
std::unique_ptr<ThrottleMonitor> make_nvml_monitor(const std::string& uuid, std::string* why_not = nullptr);

/// The installed driver's version, "580.65.06"; empty without NVML, `why_not` then says why in one line.
std::string nvml_driver_version(std::string* why_not = nullptr);

}  // namespace evo::cuda
