#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace evo::cuda {

/// One reading of a GPU's clocks.
struct GpuClocks {
  bool throttled = false;      ///< Lowered by heat, a power brake or a hardware slowdown.
  bool power_limited = false;  ///< The power limit has lowered them since the reading before.
  int sm_mhz = 0;              ///< 0: unknown.
  int memory_mhz = 0;
  int temperature_c = 0;  ///< 0: unknown.
};

/// Watches a GPU while it is timed. Implementations: NVML, fakes.
class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  virtual GpuClocks clocks() = 0;
  /// Processes of other programs that compute on the GPU.
  virtual int other_processes() = 0;
};

/// Watches the GPU of this UUID through NVML (libnvidia-ml.so.1), found at run time. Null without it;
/// `why_not` then gives the reason, in one line. Thermal, power-brake and hardware slowdowns count as throttling. The
/// power limit does not: under tensor-core load a GPU runs at it all day. NVML renews clocks and reasons every 100 ms;
/// the time that the power limit lowered them is counted without delay (nvmlDeviceGetViolationStatus).
std::unique_ptr<GpuMonitor> make_nvml_monitor(const std::string& uuid, std::string* why_not = nullptr);

/// How many of the processes on a GPU are not `ours`. In a container NVML may report the host's process numbers, and
/// none is then recognised as ours. In that case two are subtracted: this program has a device worker and a reference
/// worker.
int count_others(std::span<const unsigned> processes, const std::function<bool(unsigned)>& ours);

/// The installed driver's version, "580.65.06". Empty without NVML; `why_not` then gives the reason, in one line.
std::string nvml_driver_version(std::string* why_not = nullptr);

}  // namespace evo::cuda
