#include "evaluator/vgpu/numbers/reduction.h"

#include <cstring>
#include <functional>

#include "evaluator/vgpu/numbers/combining.h"

namespace evo::vgpu {
namespace {

using ptx::Type;

template <class T, class Op>
void combine(std::byte* memory, const std::byte* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T old, value;
    std::memcpy(&old, memory + i * sizeof(T), sizeof(T));
    std::memcpy(&value, values + i * sizeof(T), sizeof(T));
    const T fresh = static_cast<T>(Op()(old, value));
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
      return flush ? on<float, AddSingleInMemory<true>>() : on<float, AddSingleInMemory<false>>();
    case Type::f64:
      return on<double, AddDoubleInMemory>();
    case Type::s32:
      return on<std::uint32_t, std::plus<>>();  // Wraps around.
    case Type::s64:
      return on<std::uint64_t, std::plus<>>();
    default:
      return arithmetic<std::plus<>>(type);
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

std::optional<Reduction> reduction_of(std::string_view operation, Type type, bool flush) {
  if (operation == "add") return add(type, flush);
  if (operation == "min") return extreme<Min, false>(type);
  if (operation == "max") return extreme<Max, true>(type);
  if (operation == "and") return logic<std::bit_and<>>(type);
  if (operation == "or") return logic<std::bit_or<>>(type);
  if (operation == "xor") return logic<std::bit_xor<>>(type);
  if (operation == "inc" && type == Type::u32) return on<std::uint32_t, Increment>();
  if (operation == "dec" && type == Type::u32) return on<std::uint32_t, Decrement>();
  return std::nullopt;
}

}  // namespace evo::vgpu
