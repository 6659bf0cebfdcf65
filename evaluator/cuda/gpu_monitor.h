#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace evo::cuda {

/// One look at a GPU's clocks.
struct GpuClocks {
  bool throttled = false;      ///< Lowered by heat, a power brake or a hardware slowdown.
  bool power_limited = false;  ///< The power limit lowered them, now or at any time since the look before.
  int sm_mhz = 0;              ///< 0: nobody can tell.
  int memory_mhz = 0;
};

/// Tells what a GPU is doing while it is timed. Implementations: NVML, fakes.
class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  virtual GpuClocks clocks() = 0;
  /// Processes that compute on the GPU and are none of this program's.
  virtual int other_processes() = 0;
};

/// Watches the GPU of this UUID through NVML (libnvidia-ml.so.1), found at run time. Null without it;
/// `why_not` then says why in one line. Thermal, power-brake and hardware slowdowns count as throttling; the
/// power limit does not: under tensor-core load it is where a GPU runs all day. NVML renews clocks and reasons every
/// 100 ms; for how long power limited them it counts without delay (nvmlDeviceGetViolationStatus).
std::unique_ptr<GpuMonitor> make_nvml_monitor(const std::string& uuid, std::string* why_not = nullptr);

/// How many of the processes on a GPU are not `ours`. In a container NVML may tell the host's numbers, among
/// which none is known to be ours: then as many as this program has at most (a device worker and a reference
/// worker) are taken for it.
int count_others(std::span<const unsigned> processes, const std::function<bool(unsigned)>& ours);

/// The installed driver's version, "580.65.06"; empty without NVML, `why_not` then says why in one line.
std::string nvml_driver_version(std::string* why_not = nullptr);

}  // namespace evo::cuda
