#include "evaluator/device/guards.h"

#include <array>

namespace evo {
namespace {

constexpr std::size_t kGuardBytes = 4096;

/// NaN as f32, f16 and bf16 (and three bytes in four as e4m3), so that a kernel which computes with what lies beyond
/// its tensors is found; but not the NaN that a GPU itself produces (0x7fffffff), so that writing one is found too.
constexpr std::array<std::byte, 4> kGuardPattern = {std::byte{0xfb}, std::byte{0xff}, std::byte{0xff}, std::byte{0x7f}};

}  // namespace

std::size_t guard_bytes_for(const DeviceInfo& info) {
  return info.kind == "vgpu" ? 0 : kGuardBytes;
}

void write_guard(std::span<std::byte> guard) {
  for (std::size_t i = 0; i < guard.size(); ++i) guard[i] = kGuardPattern[i % kGuardPattern.size()];
}

std::optional<std::size_t> first_damage(std::span<const std::byte> guard) {
  for (std::size_t i = 0; i < guard.size(); ++i) {
    if (guard[i] != kGuardPattern[i % kGuardPattern.size()]) return i;
  }
  return std::nullopt;
}

}  // namespace evo
