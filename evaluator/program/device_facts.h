#pragma once

#include <cstddef>
#include <string>

namespace evo::program {

/// A CUdevice_attribute, or the cudaDeviceAttr of that number. Unknown ones are 0.
int attribute_of_device(int attribute);

/// 16 bytes that stand for the device.
const unsigned char* uuid_of_device();

/// A limit of CUlimit or cudaLimit, which agree. Kernels do not feel them.
std::size_t& limit_of_device(int limit);

constexpr int kVersion = 13000;  ///< Of the driver, and of the runtime where it is ours.
constexpr const char* kBusId = "0000:01:00.0";

}  // namespace evo::program
