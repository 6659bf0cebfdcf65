#pragma once

#include <cstddef>
#include <vector>

namespace evo::program {

/// Which cudaDeviceProp a program was compiled with.
enum class PropertiesOf { cuda_12, cuda_13 };

/// A cudaDeviceProp of the virtual GPU.
std::vector<std::byte> device_properties(PropertiesOf version);

}  // namespace evo::program
