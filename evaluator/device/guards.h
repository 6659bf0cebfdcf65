#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "evaluator/device/device.h"

namespace evo {

/// Bytes before and behind each tensor and workspace that nobody may write. They are more than the overhang of a usual
/// kernel's tile. None on a device that checks every access itself.
std::size_t guard_bytes_for(const DeviceInfo& info);

void write_guard(std::span<std::byte> guard);

/// The offset of the first byte that is not as write_guard wrote it.
std::optional<std::size_t> first_damage(std::span<const std::byte> guard);

}  // namespace evo
