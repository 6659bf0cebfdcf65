#include "evaluator/vgpu/numbers/reduction.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "evaluator/vgpu/numbers/half_lanes.h"

namespace evo::vgpu {
namespace {

using ptx::Type;

struct Add {
  template <class T>
  static T apply(T old, T b) {
    return static_cast<T>(old + b);
  }
};
template <bool kFlush>
struct AddSingle {
  static float apply(float old, float b) { return added_in_memory<kFlush>(old, b); }
};
struct AddDouble {
  static double apply(double old, double b) { return added_in_memory(old, b); }
};
struct Min {
  template <class T>
  static T apply(T old, T b) {
    return std::min(old, b);
  }
};
struct Max {
  template <class T>
  static T apply(T old, T b) {
    return std::max(old, b);
  }
};
struct And {
  template <class T>
  static T apply(T old, T b) {
    return old & b;
  }
};
struct Or {
  template <class T>
  static T apply(T old, T b) {
    return old | b;
  }
};
struct Xor {
  template <class T>
  static T apply(T old, T b) {
    return old ^ b;
  }
};
struct Increment {
  static std::uint32_t apply(std::uint32_t old, std::uint32_t b) { return old >= b ? 0 : old + 1; }
};
struct Decrement {
  static std::uint32_t apply(std::uint32_t old, std::uint32_t b) { return old == 0 || old > b ? b : old - 1; }
};
template <class Format>
struct AddHalf {
  static std::uint16_t apply(std::uint16_t old, std::uint16_t b) {
    return static_cast<std::uint16_t>(Format::add(old, b));
  }
};
template <class Format, bool kMax>
struct HalfExtreme {
  static std::uint16_t apply(std::uint16_t old, std::uint16_t b) {
    if (is_nan<Format>(old)) return is_nan<Format>(b) ? static_cast<std::uint16_t>(Format::kNan) : b;
    if (is_nan<Format>(b)) return old;
    return (kMax ? ordered_half(old) > ordered_half(b) : ordered_half(old) < ordered_half(b)) ? old : b;
  }
};

template <class T, class Op>
void combine(std::byte* memory, const std::byte* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T old, value;
    std::memcpy(&old, memory + i * sizeof(T), sizeof(T));
    std::memcpy(&value, values + i * sizeof(T), sizeof(T));
    const T fresh = Op::apply(old, value);
    std::memcpy(memory + i * sizeof(T), &fresh, sizeof(T));
  }
}

template <class T, class Op>
std::optional<Reduction> on() {
  return Reduction{combine<T, Op>, sizeof(T)};
}

template <class Op>
std::optional<Reduction> arithmetic(Type type) {
  switch (type) {
    case Type::u32:
      return on<std::uint32_t, Op>();
    case Type::s32:
      return on<std::int32_t, Op>();
    case Type::u64:
      return on<std::uint64_t, Op>();
    case Type::s64:
      return on<std::int64_t, Op>();
    default:
      return std::nullopt;
  }
}

std::optional<Reduction> add(Type type, bool flush) {
  switch (type) {
    case Type::f16:
      return on<std::uint16_t, AddHalf<F16>>();
    case Type::bf16:
      return on<std::uint16_t, AddHalf<BF16>>();
    case Type::f32:
      return flush ? on<float, AddSingle<true>>() : on<float, AddSingle<false>>();
    case Type::f64:
      return on<double, AddDouble>();
    case Type::s32:
      return on<std::uint32_t, Add>();  // Wraps around.
    case Type::s64:
      return on<std::uint64_t, Add>();
    default:
      return arithmetic<Add>(type);
  }
}

template <class Op, bool kMax>
std::optional<Reduction> extreme(Type type) {
  if (type == Type::f16) return on<std::uint16_t, HalfExtreme<F16, kMax>>();
  if (type == Type::bf16) return on<std::uint16_t, HalfExtreme<BF16, kMax>>();
  return arithmetic<Op>(type);
}

template <class Op>
std::optional<Reduction> logic(Type type) {
  if (type == Type::b32) return on<std::uint32_t, Op>();
  if (type == Type::b64) return on<std::uint64_t, Op>();
  return std::nullopt;
}

}  // namespace

double added_in_memory(double old, double b) {
  if (b != b) return b;
  return old != old ? old : old + b;
}

std::optional<Reduction> reduction_of(std::string_view operation, Type type, bool flush) {
  if (operation == "add") return add(type, flush);
  if (operation == "min") return extreme<Min, false>(type);
  if (operation == "max") return extreme<Max, true>(type);
  if (operation == "and") return logic<And>(type);
  if (operation == "or") return logic<Or>(type);
  if (operation == "xor") return logic<Xor>(type);
  if (operation == "inc" && type == Type::u32) return on<std::uint32_t, Increment>();
  if (operation == "dec" && type == Type::u32) return on<std::uint32_t, Decrement>();
  return std::nullopt;
}

}  // namespace evo::vgpu
