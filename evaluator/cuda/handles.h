#pragma once

#include <utility>

#include "evaluator/cuda/driver.h"

namespace evo::cuda {

/// Logs a release that failed, at debug level only: after a fault on the device every release fails.
void note_release(const Driver& driver, CUresult result) noexcept;

/// Owns one handle of the driver. `release` is the member of Driver that ends it. The driver must outlive it.
template <typename Handle, auto release>
class Owned {
 public:
  Owned() = default;
  Owned(const Driver& driver, Handle handle) : driver_(&driver), handle_(handle) {}
  ~Owned() {
    if (handle_ != Handle{}) note_release(*driver_, (driver_->*release)(handle_));
  }
  Owned(Owned&& other) noexcept : driver_(other.driver_), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  Handle get() const { return handle_; }

 private:
  const Driver* driver_ = nullptr;
  Handle handle_{};
};

using OwnedMemory = Owned<CUdeviceptr, &Driver::memory_free>;
using OwnedHostMemory = Owned<void*, &Driver::host_free>;
using OwnedModule = Owned<CUmodule, &Driver::module_unload>;
using OwnedStream = Owned<CUstream, &Driver::stream_destroy>;
using OwnedEvent = Owned<CUevent, &Driver::event_destroy>;
using OwnedGraph = Owned<CUgraph, &Driver::graph_destroy>;
using OwnedGraphExec = Owned<CUgraphExec, &Driver::graph_exec_destroy>;

/// A GPU's primary context, current on this thread.
class PrimaryContext {
 public:
  /// Throws machine_error when the GPU cannot be opened (exclusive mode, out of memory).
  PrimaryContext(const Driver& driver, CUdevice device, const std::string& name);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CUcontext get() const { return context_; }

 private:
  const Driver& driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
};

/// Both throw machine_error.
OwnedStream make_stream(const Driver& driver);
OwnedEvent make_event(const Driver& driver);

}  // namespace evo::cuda
