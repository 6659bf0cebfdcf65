#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/cuda/cupti.h"
#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/gpu_monitor.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// The GPUs of a driver: the real one, or fakes in tests.
std::vector<DeviceInfo> list_devices(const Driver& driver, std::string* why_none);

/// Seconds of a steady clock.
double steady_seconds();

/// As load_cupti does it.
using CuptiLoader = std::function<std::shared_ptr<const Cupti>(std::string* why_not)>;

/// Opens a GPU of a driver. `monitor` may be null. CUPTI is loaded once counters are wanted. Throws machine_error when
/// there is no such GPU.
std::unique_ptr<Device> make_device(std::shared_ptr<const Driver> driver, int ordinal,
                                    std::unique_ptr<GpuMonitor> monitor,
                                    std::function<double()> seconds = steady_seconds,
                                    CuptiLoader load_cupti = cuda::load_cupti);

}  // namespace evo::cuda
