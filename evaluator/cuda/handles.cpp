#include "evaluator/cuda/handles.h"

#include <fmt/format.h>

#include "evaluator/base/log.h"

namespace evo::cuda {

void note_release(const Driver& driver, CUresult result) noexcept {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  if (driver.error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  log_line(LogLevel::warning, [&] { return fmt::format("releasing a CUDA handle: {}", name); });
}

PrimaryContext::PrimaryContext(const Driver& driver, CUdevice device, const std::string& name)
    : driver_(driver), device_(device) {
  require(driver_, driver_.context_retain(&context_, device_), name + ": cannot be opened");
  const CUresult current = driver_.context_set_current(context_);
  if (current == CUDA_SUCCESS) return;
  note_release(driver_, driver_.context_release(device_));
  require(driver_, current, name + ": cannot be opened");
}

PrimaryContext::~PrimaryContext() {
  note_release(driver_, driver_.context_set_current(nullptr));
  note_release(driver_, driver_.context_release(device_));
}

OwnedStream make_stream(const Driver& driver) {
  CUstream stream = nullptr;
  require(driver, driver.stream_create(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return {driver, stream};
}

OwnedEvent make_event(const Driver& driver) {
  CUevent event = nullptr;
  require(driver, driver.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  return {driver, event};
}

}  // namespace evo::cuda
