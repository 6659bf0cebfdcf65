#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

/// A decoded instruction and where its operands are.
namespace evo::vgpu {

struct Warp;
struct Instruction;

/// Executes one instruction for the lanes of `mask`, which is never 0.
using Execute = void (*)(Warp& warp, const Instruction& instruction, std::uint32_t mask);

/// A *row* is one 32-bit register of all 32 lanes; a 64-bit register is two rows holding 32 64-bit values,
/// lane by lane. A place is a row's offset in 32-bit words; with the top bit set it is one of the kernel's
/// constants.
using Place = std::uint32_t;
constexpr Place kConstantBit = 0x8000'0000u;
constexpr int kRowWords = 32;
constexpr std::uint32_t kAllLanes = 0xffff'ffffu;

/// The lanes of a mask, ascending: for (const int lane : lanes_of(mask)).
struct LanesOf {
  std::uint32_t left;
  constexpr LanesOf begin() const { return *this; }
  constexpr std::default_sentinel_t end() const { return {}; }
  constexpr int operator*() const { return std::countr_zero(left); }
  constexpr void operator++() { left &= left - 1; }
  constexpr bool operator==(std::default_sentinel_t) const { return left == 0; }
};
constexpr LanesOf lanes_of(std::uint32_t mask) {
  return {mask};
}
/// The lanes that have a value in a row.
template <class T>
constexpr std::uint32_t lanes_with(const T* row, T value) {
  std::uint32_t lanes = 0;
  for (int lane = 0; lane < kRowWords; ++lane) lanes |= static_cast<std::uint32_t>(row[lane] == value) << lane;
  return lanes;
}

constexpr std::size_t kInlineOperands = 6;

struct Instruction {
  Execute execute = nullptr;
  std::array<Place, kInlineOperands> op{};  ///< Only `execute` knows what each means.
  std::uint32_t guard = 0;                  ///< Predicate; number 0 is always true.
  std::uint32_t guard_flip = 0;             ///< All ones for @!p.
  std::uint32_t more = 0;                   ///< First of this instruction's places in Kernel::places, if it has many.
  std::uint32_t cache = 0;                  ///< Of memory instructions: entry of the launch's allocation cache.
  std::int64_t immediate = 0;               ///< Address offset, table, mode ...
  std::uint32_t aux0 = 0;                   ///< Branches: index of the target instruction.
  std::uint32_t aux1 = 0;                   ///< Branches: index of the reconvergence point, or kNowhere.
};
static_assert(sizeof(Instruction) == 64, "one instruction, one cache line");

constexpr std::uint32_t kNowhere = 0xffff'ffffu;

}  // namespace evo::vgpu
