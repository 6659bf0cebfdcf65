#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/machine/warp.h"

/// Instructions that only move bytes between registers: moves, packing and unpacking, selection, extension, masks and
/// shifts by whole bytes.
namespace evo::vgpu {

/// For each byte of a 32-bit register: lanes in which it is marked.
using RegisterBytes = std::array<std::uint32_t, 4>;

inline std::uint32_t lanes_of(const RegisterBytes& bytes) {
  return bytes[0] | bytes[1] | bytes[2] | bytes[3];
}

/// The marked bytes of the registers that are written, when those of the registers that are read are marked. `marked`
/// has an entry for each register that is read, apart from the guard. Nothing when the instruction computes, so that
/// all of its result depends on all of its sources.
std::optional<std::vector<RegisterBytes>> moved_bytes(const Warp& warp, const Instruction& in, std::string_view opcode,
                                                      std::span<const RegisterBytes> marked, std::size_t writes);

/// How loads and stores lay out their elements: so many of `bytes` each, in as many registers.
struct Elements {
  std::size_t count = 1;
  std::size_t bytes = 4;

  std::size_t words() const { return bytes == 8 ? 2 : 1; }
};
Elements elements_of(std::string_view opcode, std::size_t bytes);

}  // namespace evo::vgpu
