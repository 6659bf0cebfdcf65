#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/machine/warp.h"

/// Instructions that only move bits between registers: moves, packing and unpacking, selection, extension, logic,
/// shifts and fields.
namespace evo::vgpu {

/// The marked bits of a 32-bit register in each lane.
using RegisterBits = std::array<std::uint32_t, 32>;

inline std::uint32_t lanes_of(const RegisterBits& bits) {
  std::uint32_t lanes = 0;
  for (std::size_t lane = 0; lane < bits.size(); ++lane) lanes |= static_cast<std::uint32_t>(bits[lane] != 0) << lane;
  return lanes;
}

/// The marked bits of the registers that are written, when those of the registers that are read are marked. `marked`
/// has an entry for each register that is read, apart from the guard. A bit of the result is marked if it may change
/// when marked ones do. Nothing when the instruction computes, so that all of its result depends on all of its sources.
std::optional<std::vector<RegisterBits>> moved_bits(const Warp& warp, const Instruction& in, std::string_view opcode,
                                                    std::span<const RegisterBits> marked, std::size_t writes);

/// Whether such an instruction moves bits to other places in their bytes: what it makes is no copy.
bool moves_within_bytes(const Warp& warp, const Instruction& in, std::string_view opcode);

/// How loads and stores lay out their elements: so many of `bytes` each, in as many registers.
struct Elements {
  std::size_t count = 1;
  std::size_t bytes = 4;

  std::size_t words() const { return bytes == 8 ? 2 : 1; }
};
Elements elements_of(std::string_view opcode, std::size_t bytes);

}  // namespace evo::vgpu
