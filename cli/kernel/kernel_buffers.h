#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/kernel/kernel_arguments.h"

namespace evo::cli {

/// The bytes of a buffer; `dims` is filled from the file where the text left it open. Throws usage_error for a file
/// that does not fit, and for numbers that the type does not hold.
std::vector<std::byte> content_of(BufferSpec& spec, std::uint64_t seed);

/// Writes .npy when the path ends so, else the bytes alone. Throws machine_error.
void write_buffer(const std::string& path, const BufferSpec& spec, std::span<const std::byte> bytes);

}  // namespace evo::cli
