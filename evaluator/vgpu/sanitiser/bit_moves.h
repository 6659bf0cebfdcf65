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
/// has an entry for each register that is read, apart from the guard; `unknown` likewise: the bits whose values nobody
/// knows, marked ones among them. A bit of the result is marked if it may change when marked ones do. Nothing when the
/// instruction computes, so that all of its result depends on all of its sources.
std::optional<std::vector<RegisterBits>> moved_bits(const Warp& warp, const Instruction& in, std::string_view opcode,
                                                    std::span<const RegisterBits> marked,
                                                    std::span<const RegisterBits> unknown, std::size_t writes);

/// What has become of bits on their way.
struct Way {
  bool split = false;  ///< Those of a byte did not stay together.
  bool moved = false;  ///< They are not where they were.

  Way operator|(Way other) const { return {split || other.split, moved || other.moved}; }
  bool operator==(const Way&) const = default;
};
inline constexpr Way kComputed{true, true};

/// The way through such an instruction, which made `result` of what is `marked`.
Way way_through(const Warp& warp, const Instruction& in, std::string_view opcode, std::span<const RegisterBits> marked,
                std::span<const RegisterBits> result);

/// How loads and stores lay out their elements: so many of `bytes` each, in as many registers.
struct Elements {
  std::size_t count = 1;
  std::size_t bytes = 4;

  std::size_t words() const { return bytes == 8 ? 2 : 1; }
};
Elements elements_of(std::string_view opcode, std::size_t bytes);

}  // namespace evo::vgpu
