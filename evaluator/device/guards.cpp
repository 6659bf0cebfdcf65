#include "evaluator/device/guards.h"

#include <array>

#include "engine/device/device_kind.h"

namespace evo {
namespace {

constexpr std::size_t kGuardBytes = 4096;

/// NaN as f32, f16 and bf16, and three bytes in four as e4m3: a kernel that computes with what lies beyond its tensors
/// gets NaN. It is not the NaN that a GPU itself produces (0x7fffffff): a kernel that writes one there is found.
constexpr std::array<std::byte, 4> kGuardPattern = {std::byte{0xfb}, std::byte{0xff}, std::byte{0xff}, std::byte{0x7f}};

}  // namespace

std::size_t guard_bytes_for(const DeviceInfo& info) {
  return kind_named(info.kind).checks_accesses ? 0 : kGuardBytes;
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
