#pragma once

#include <cstdint>
#include <vector>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"

namespace evo {

/// Threads of a block of the program's own kernels.
inline constexpr std::uint32_t kKernelThreads = 256;

/// Blocks for so many units of work: not more than a device keeps busy.
std::uint32_t blocks_for(std::uint64_t units, std::uint64_t of_a_block);

/// A struct's members.
Scalar scalar_of(std::uint64_t value);
Scalar scalar_of(double value);
Scalar scalar_of(float value);
Scalar scalar_of(int value);
template <class... Values>
std::vector<Scalar> fields(Values... values) {
  return {scalar_of(values)...};
}

/// Runs one of the program's own kernels: pointers first, then a struct. Throws machine_error where it fails.
void run_kernel(Device& device, const Module& module, const char* kernel, std::uint32_t blocks,
                std::vector<DeviceAddress> addresses, std::vector<Scalar> values);

}  // namespace evo
