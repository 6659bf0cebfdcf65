#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/program/refusal.h"
#include "evaluator/program/report.h"
#include "evaluator/vgpu/virtual_device.h"

/// What the entry points of the driver and of the runtime share: one virtual GPU for the process. It and everything
/// that handles stand for is never destroyed: programs call until their very end.
namespace evo::program {

using Address = std::uint64_t;

/// Device memory lies where no process maps anything of its own: an address says whose it is.
constexpr Address kDeviceMemory = 0x0a00'0000'0000ull;
constexpr Address kDeviceMemoryEnd = 0x0f00'0000'0000ull;

inline bool on_device(Address address) {
  return address >= kDeviceMemory && address < kDeviceMemoryEnd;
}

enum class MemoryKind { device, pinned, registered, managed };

struct Pool;

/// What the program has allocated or registered.
struct Range {
  Address begin = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;          ///< As they were asked for.
  std::uint64_t number = 0;    ///< Unique in the process.
  const Pool* pool = nullptr;  ///< Where it was taken from; null: from none.
};

/// The virtual GPU of this process. Every entry point holds its lock.
class Machine {
 public:
  Machine();

  vgpu::VirtualGpu& gpu() { return *gpu_; }
  const DeviceInfo& info() const { return gpu_->info(); }
  Report& report() { return report_; }
  /// A function was called that needs the GPU.
  void begin() { begun_ = true; }
  std::recursive_mutex& lock() { return lock_; }

  Address allocate(std::size_t bytes, MemoryKind kind, unsigned flags = 0, const Pool* pool = nullptr);
  void register_host(void* host, std::size_t bytes, unsigned flags);
  /// Ends a range of that kind which begins there.
  void release(Address begin, MemoryKind kind);
  /// The range that holds the address; null: none.
  const Range* range_of(Address address) const;
  std::size_t free_bytes() const;
  std::size_t bytes_in(const Pool& pool) const;

  // What kernels have done that a GPU would not survive: every later call answers so.
  std::optional<Code> broken;

  void print(const std::string& text) { printed_ += text; }
  /// What kernels have printed appears when the host waits for them.
  void show_printed();
  /// Forgets everything that was allocated: cudaDeviceReset.
  void reset();
  /// In a process that was forked from this one: if this one used the GPU it cannot, as on a GPU.
  void become_forked();

 private:
  std::recursive_mutex lock_;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  Report report_;
  std::map<Address, Range> ranges_;
  std::size_t used_ = 0;
  std::uint64_t numbers_ = 0;
  std::string printed_;
  bool begun_ = false, forked_ = false;
};

/// Made when it is first asked for.
Machine& machine();

}  // namespace evo::program
