#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "evaluator/vgpu/machine/warp.h"
#include "evaluator/vgpu/numbers/cpu_clones.h"

/// Element-wise instructions: one scalar function becomes a loop over a warp's lanes, compiled for several
/// CPUs.
namespace evo::vgpu {

/// What the CPU's vectors can do. The bits of a result do not depend on it.
enum class Simd : std::uint8_t { plain, avx2, avx512 };
/// The best that this CPU has.
Simd best_simd();

#if defined(__x86_64__) && defined(__GNUC__)
#define EVO_TARGET_AVX2 __attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c")))
#define EVO_TARGET_AVX512 \
  __attribute__((         \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c,prefer-vector-width=512")))
#else
#define EVO_TARGET_AVX2
#define EVO_TARGET_AVX512
#endif

using Word = std::uint32_t;
__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// How a value of type T lies in a lane: 64-bit values in two words, smaller ones in one, zero-extended.
template <class T>
using Slot = std::conditional_t<sizeof(T) == 8, std::uint64_t, Word>;
template <class T>
inline constexpr std::size_t kSlotWords = sizeof(T) == 8 ? 2 : 1;

template <class T>
EVO_INLINE T get(const Slot<T>* row, int lane) {
  if constexpr (sizeof(T) == 8 || sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, Word>>(row[lane]));
  } else {
    return static_cast<T>(row[lane]);
  }
}

template <class T>
EVO_INLINE void put(Slot<T>* row, int lane, T value) {
  if constexpr (sizeof(T) == 8) {
    row[lane] = std::bit_cast<std::uint64_t>(value);
  } else if constexpr (sizeof(T) == 4) {
    row[lane] = std::bit_cast<Word>(value);
  } else {
    row[lane] = static_cast<std::make_unsigned_t<T>>(value);
  }
}

template <class T>
EVO_INLINE const Slot<T>* source_row(const Warp& warp, Place place) {
  return reinterpret_cast<const Slot<T>*>(warp.row(place));
}
template <class T>
EVO_INLINE Slot<T>* own_row(const Warp& warp, Place place) {
  return reinterpret_cast<Slot<T>*>(warp.own(place));
}

/// Writes the lanes of `mask`.
template <class S>
EVO_INLINE void blend(S* to, const S* from, std::uint32_t mask) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < 32; ++lane) to[lane] = (mask >> lane & 1u) != 0 ? from[lane] : to[lane];
}

EVO_INLINE void put_predicate(Warp& warp, std::uint32_t predicate, std::uint32_t bits, std::uint32_t mask) {
  warp.predicates[predicate] = (warp.predicates[predicate] & ~mask) | (bits & mask);
}

/// A predicate operand, perhaps negated, in one word.
constexpr std::uint32_t predicate_operand(std::uint32_t predicate, bool negated) {
  return predicate << 1 | (negated ? 1u : 0u);
}
EVO_INLINE std::uint32_t get_predicate(const Warp& warp, std::uint32_t operand) {
  return warp.predicates[operand >> 1] ^ (0u - (operand & 1u));
}

namespace detail {

template <class Op, class D, class... A, std::size_t... I>
EVO_INLINE void map_lanes(Warp& warp, const Instruction& in, std::uint32_t mask, D (*)(A...),
                          std::index_sequence<I...>) {
  Slot<D>* d = own_row<D>(warp, in.op[0]);
  alignas(64) Slot<D> partial[32];
  Slot<D>* out = mask == kAllLanes ? d : partial;
  const void* rows[] = {warp.row(in.op[1 + I])...};
  EVO_LANE_LOOP
  for (int lane = 0; lane < 32; ++lane) {
    put<D>(out, lane, Op::apply(get<A>(static_cast<const Slot<A>*>(rows[I]), lane)...));
  }
  if (mask != kAllLanes) blend(d, partial, mask);
}

template <class Op, class... A, std::size_t... I>
EVO_INLINE std::uint32_t test_lanes(Warp& warp, const Instruction& in, std::size_t first, bool (*)(A...),
                                    std::index_sequence<I...>) {
  const void* rows[] = {warp.row(in.op[first + I])...};
  std::uint32_t bits = 0;
  EVO_LANE_LOOP
  for (int lane = 0; lane < 32; ++lane) {
    bits |= static_cast<std::uint32_t>(Op::apply(get<A>(static_cast<const Slot<A>*>(rows[I]), lane)...)) << lane;
  }
  return bits;
}

template <class D, class... A>
constexpr std::make_index_sequence<sizeof...(A)> sources_of(D (*)(A...)) {
  return {};
}

template <class Op>
struct Map {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    map_lanes<Op>(warp, in, mask, &Op::apply, sources_of(&Op::apply));
  }
};

}  // namespace detail

/// `Body::run(warp, instruction, mask)` compiled for each kind of CPU.
template <class Body>
struct Compiled {
  static void plain(Warp& warp, const Instruction& in, std::uint32_t mask) { Body::run(warp, in, mask); }
  EVO_TARGET_AVX2 static void avx2(Warp& warp, const Instruction& in, std::uint32_t mask) { Body::run(warp, in, mask); }
  EVO_TARGET_AVX512 static void avx512(Warp& warp, const Instruction& in, std::uint32_t mask) {
    Body::run(warp, in, mask);
  }

  static Execute choose(Simd simd) {
    switch (simd) {
      case Simd::avx512:
        return avx512;
      case Simd::avx2:
        return avx2;
      case Simd::plain:
        break;
    }
    return plain;
  }
};

/// d = Op::apply(a, b, ...) in every lane of the mask: op[0] is d, op[1] on are the sources.
template <class Op>
Execute elementwise(Simd simd) {
  return Compiled<detail::Map<Op>>::choose(simd);
}

/// The mask of lanes where Op::apply(a, b, ...) holds; sources from op[first]. For the bodies of comparing
/// instructions.
template <class Op>
EVO_INLINE std::uint32_t lanes_where(Warp& warp, const Instruction& in, std::size_t first) {
  return detail::test_lanes<Op>(warp, in, first, &Op::apply, detail::sources_of(&Op::apply));
}

}  // namespace evo::vgpu
