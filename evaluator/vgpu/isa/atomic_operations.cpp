#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/numbers/combining.h"

// PTX ISA 9.0, 9.7.13: atom, red. The interpreter runs one instruction at a time: every read-modify-write is
// atomic, the lanes' in ascending order.
namespace evo::vgpu {
namespace {

using ptx::Type;

struct Exchange {
  template <class T>
  T operator()(T, T b) const {
    return b;
  }
};
/// c where the old value is b.
struct CompareAndSwap {};
/// Doubles in shared memory are added by a loop around cas, as add.f64 adds: of two NaNs the first one remains. A sum
/// in C++ leaves the choice to the compiler.
struct AddDouble {
  double operator()(double old, double b) const { return old != old ? old + old : old + b; }
};
/// On one half of a word, or on both.
template <class Function, bool kPair>
struct Halves {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b) const {
    const std::uint32_t low = Function()(old & 0xffffu, b & 0xffffu);
    return kPair ? low | Function()(old >> 16, b >> 16) << 16 : low;
  }
};

/// op: d, base, (b), c. Memory holds the low kBytes of a T. `before` gets what it held.
template <class T, class Op, std::size_t kBytes = sizeof(T)>
void apply_to_memory(Warp& warp, const Instruction& in, std::uint32_t mask, const Slot<T>* b,
                     std::vector<CounterBefore>* before = nullptr) {
  Touched touched;
  if (!resolve(warp, in, mask, in.op[1], kBytes, touched)) return;
  observe_atomic(warp, in, mask, kBytes, touched);
  Slot<T>* d = own_row<T>(warp, in.op[0]);
  const Slot<T>* c = source_row<T>(warp, in.op[3]);
  Slot<T> result[32];
  for (const int lane : lanes_of(mask)) {
    T old{};
    std::memcpy(&old, touched.at[lane], kBytes);
    if (before != nullptr) before->push_back({touched.at[lane], kBytes, static_cast<std::uint64_t>(old)});
    const T value = get<T>(b, lane);
    T fresh;
    if constexpr (std::is_same_v<Op, CompareAndSwap>) {
      fresh = old == value ? get<T>(c, lane) : old;
    } else {
      fresh = Op()(old, value);
    }
    std::memcpy(touched.at[lane], &fresh, kBytes);
    put<T>(result, lane, old);
  }
  blend(d, result, mask);
}

/// op: d, base, b, c.
template <class T, class Op, std::size_t kBytes = sizeof(T)>
void execute_atomic(Warp& warp, const Instruction& in, std::uint32_t mask) {
  apply_to_memory<T, Op, kBytes>(warp, in, mask, source_row<T>(warp, in.op[2]));
}

/// Whether the address is in shared memory, that of another block of the cluster included.
bool leads_to_shared(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const AccessMode mode = AccessMode::decoded(in.aux0);
  if (mode.where != Where::generic) return mode.where == Where::shared || mode.where == Where::cluster;
  const std::uint64_t address =
      source_row<std::uint64_t>(warp, in.op[1])[std::countr_zero(mask)] + static_cast<std::uint64_t>(in.immediate);
  return address - kSharedWindow < kWindowBytes;
}

/// Adds to a counter. In global memory a lone cluster adds what all would that it stands for.
template <class T>
void execute_count(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint32_t stands_for = warp.launch->stands_for;
  if (stands_for == 1 || leads_to_shared(warp, in, mask)) return execute_atomic<T, std::plus<>>(warp, in, mask);
  const Slot<T>* b = source_row<T>(warp, in.op[2]);
  Slot<T> of_all[32];
  Slot<T> before[32];
  for (int lane = 0; lane < 32; ++lane) {
    put<T>(of_all, lane, static_cast<T>(get<T>(b, lane) * stands_for));
    put<T>(before, lane, static_cast<T>(get<T>(b, lane) * static_cast<T>(warp.block->cluster->number)));
  }
  apply_to_memory<T, std::plus<>>(warp, in, mask, of_all, &warp.launch->counters);
  Slot<T>* d = own_row<T>(warp, in.op[0]);
  for (const int lane : lanes_of(mask)) {
    put<T>(d, lane, static_cast<T>(get<T>(d, lane) + get<T>(before, lane)));
  }
}

/// Which unit adds depends on where the address leads: global memory's flushes subnormals, shared memory's does not.
template <class Float, class InShared, class InGlobal>
void execute_add(Warp& warp, const Instruction& in, std::uint32_t mask) {
  leads_to_shared(warp, in, mask) ? execute_atomic<Float, InShared>(warp, in, mask)
                                  : execute_atomic<Float, InGlobal>(warp, in, mask);
}

template <class Op>
Execute choose_integer_atomic(Form& form, Type type) {
  return with_integer<32>(form, type, []<class T>(T) -> Execute { return execute_atomic<T, Op>; });
}

Execute choose_add(Form& form, Type type) {
  switch (type) {
    case Type::f32:
      return execute_add<float, AddSingleInMemory<false>, AddSingleInMemory<true>>;
    case Type::f64:
      return execute_add<double, AddDouble, AddDoubleInMemory>;
    case Type::f16:
      return execute_atomic<std::uint32_t, Halves<AddHalf<F16>, false>, 2>;
    case Type::f16x2:
      return execute_atomic<std::uint32_t, Halves<AddHalf<F16>, true>>;
    case Type::bf16:
      return execute_atomic<std::uint32_t, Halves<AddHalf<BF16>, false>, 2>;
    case Type::bf16x2:
      return execute_atomic<std::uint32_t, Halves<AddHalf<BF16>, true>>;
    case Type::s32:
    case Type::u32:
      return execute_count<std::uint32_t>;
    case Type::s64:
    case Type::u64:
      return execute_count<std::uint64_t>;
    default:
      return choose_integer_atomic<std::plus<>>(form, type);
  }
}

template <class Op, bool kMax>
Execute choose_extreme(Form& form, Type type) {
  switch (type) {
    case Type::f16:
      return execute_atomic<std::uint32_t, Halves<HalfExtreme<F16, kMax>, false>, 2>;
    case Type::f16x2:
      return execute_atomic<std::uint32_t, Halves<HalfExtreme<F16, kMax>, true>>;
    case Type::bf16:
      return execute_atomic<std::uint32_t, Halves<HalfExtreme<BF16, kMax>, false>, 2>;
    case Type::bf16x2:
      return execute_atomic<std::uint32_t, Halves<HalfExtreme<BF16, kMax>, true>>;
    default:
      return choose_integer_atomic<Op>(form, type);
  }
}

Execute choose(Form& form, std::string_view op, Type type) {
  if (op == "add") return choose_add(form, type);
  if (op == "min") return choose_extreme<Min, false>(form, type);
  if (op == "max") return choose_extreme<Max, true>(form, type);
  if (op == "inc" && type == Type::u32) return execute_atomic<std::uint32_t, Increment>;
  if (op == "dec" && type == Type::u32) return execute_atomic<std::uint32_t, Decrement>;
  if (ptx::is_float(type)) form.unsupported("type ." + std::string(ptx::name_of(type)));
  if (op == "and") return choose_integer_atomic<std::bit_and<>>(form, type);
  if (op == "or") return choose_integer_atomic<std::bit_or<>>(form, type);
  if (op == "xor") return choose_integer_atomic<std::bit_xor<>>(form, type);
  if (op == "exch") return choose_integer_atomic<Exchange>(form, type);
  if (op == "cas") {
    return type == Type::b16 ? execute_atomic<std::uint32_t, CompareAndSwap, 2>
                             : choose_integer_atomic<CompareAndSwap>(form, type);
  }
  form.unsupported();
}

/// 128 bits. op: the halves of d, base; the list: the halves of b and, for cas, of c.
template <bool kCompares>
void execute_wide_atomic(Warp& warp, const Instruction& in, std::uint32_t mask) {
  using Value = std::array<std::uint64_t, 2>;
  Touched touched;
  if (!resolve(warp, in, mask, in.op[2], sizeof(Value), touched)) return;
  observe_atomic(warp, in, mask, sizeof(Value), touched);
  const Place* places = warp.launch->kernel->places.data() + in.more;
  for (const int lane : lanes_of(mask)) {
    const auto value = [&](std::size_t at) {
      return Value{source_row<std::uint64_t>(warp, places[at])[lane],
                   source_row<std::uint64_t>(warp, places[at + 1])[lane]};
    };
    Value old;
    std::memcpy(&old, touched.at[lane], sizeof old);
    const bool stores = !kCompares || old == value(0);
    const Value fresh = stores ? value(kCompares ? 2 : 0) : old;
    std::memcpy(touched.at[lane], &fresh, sizeof fresh);
    for (std::size_t i = 0; i < old.size(); ++i) own_row<std::uint64_t>(warp, in.op[i])[lane] = old[i];
  }
}

void take_wide_atomic(Form& form, std::string_view op, Where where, const MemoryOrder& order) {
  if (op != "cas" && op != "exch") form.unsupported("type .b128");
  for (const bool upper : {false, true}) form.destination_half(form.operand(0), upper);
  take_address(form, form.operand(1), where, true);
  form.instruction().aux0 |= order.encoded();
  form.begin_list();
  for (std::size_t at = 2; at < (op == "cas" ? 4u : 3u); ++at)
    for (const bool upper : {false, true}) form.list_source_half(form.operand(at), upper);
  form.emit(op == "cas" ? execute_wide_atomic<true> : execute_wide_atomic<false>, OpClass::atomic);
}

/// Looks at a whole vector, whose elements follow one by one. op: the base; aux1: bytes.
void check_vector(Warp& warp, const Instruction& in, std::uint32_t mask) {
  Touched touched;
  const AccessMode mode = AccessMode::decoded(in.aux0);
  for (int lane = 0; lane < 32; ++lane) {
    touched.address[lane] =
        mode.wide_base ? source_row<std::uint64_t>(warp, in.op[0])[lane] + static_cast<std::uint64_t>(in.immediate)
                       : static_cast<Word>(warp.row(in.op[0])[lane] + static_cast<Word>(in.immediate));
  }
  resolve_lane_by_lane(warp, in, mask, mode, in.aux1, touched);
}

/// op: target, source.
void copy_word(Warp& warp, const Instruction& in, std::uint32_t mask) {
  blend(warp.own(in.op[0]), warp.row(in.op[1]), mask);
}

/// Vectors: each element by itself is atomic.
void take_vector_atomic(Form& form, std::string_view op, Type type, std::size_t count, Where where,
                        const MemoryOrder& order, bool returns) {
  const std::size_t address = returns ? 1 : 0;
  const auto values = form.elements(address + 1);
  const auto results = returns ? form.elements(0) : std::span<const ptx::Operand>();
  if (values.size() != count || (returns && results.size() != count))
    form.unsupported("the number of registers does not fit the vector");
  if (ptx::bits_of(type) > 32) form.unsupported("type ." + std::string(ptx::name_of(type)));
  const std::int64_t bytes = ptx::bits_of(type) / 8;
  form.begin_another();
  take_address(form, form.operand(address), where, true);
  form.instruction().aux1 = static_cast<std::uint32_t>(count) * static_cast<std::uint32_t>(bytes);
  form.emit(check_vector, OpClass::nothing);
  // Registers that take an element's old value before a later element is read from them.
  std::vector<std::optional<std::uint32_t>> copies(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto overwrites = [&](const ptx::Operand& result) {
      return result.kind == ptx::Operand::Kind::reg && values[i].kind == result.kind && result.index == values[i].index;
    };
    if (std::ranges::none_of(results.first(returns ? i : 0), overwrites)) continue;
    copies[i] = form.new_temporary(type);
    form.begin_another();
    form.temporary_destination(*copies[i]);
    form.source(values[i], type);
    form.emit(copy_word, OpClass::nothing);
  }
  for (std::size_t i = 0; i < count; ++i) {
    form.begin_another();
    returns ? form.destination(results[i], type) : form.scratch(type);
    take_address(form, form.operand(address), where, true);
    form.instruction().aux0 |= order.encoded();
    form.instruction().immediate += static_cast<std::int64_t>(i) * bytes;
    copies[i] ? form.temporary_source(*copies[i]) : form.source(values[i], type);
    form.constant(0, type);
    form.emit(choose(form, op, type), returns ? OpClass::atomic : OpClass::reduction);
  }
}

void take_atomic(Form& form, bool returns) {
  const Where where = take_space(form);
  MemoryOrder order = take_memory_hints(form);
  order.strong = true;
  form.take("noftz");
  const std::string_view op = form.take_one_of({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  const std::string_view vector = form.take_one_of({"v2", "v4", "v8"});
  const Type type = form.type();
  if (!vector.empty())
    return take_vector_atomic(form, op, type, static_cast<std::size_t>(vector[1] - '0'), where, order, returns);
  if (type == Type::b128 && returns) return take_wide_atomic(form, op, where, order);
  std::size_t at = 0;
  returns ? form.destination(at++, type) : form.scratch(type);
  take_address(form, form.operand(at++), where, true);
  form.instruction().aux0 |= order.encoded();
  form.source(at++, type);
  op == "cas" ? form.source(at++, type) : form.constant(0, type);
  form.emit(choose(form, op, type), returns ? OpClass::atomic : OpClass::reduction);
}

void decode_atom(Form& form) {
  take_atomic(form, true);
}
void decode_red(Form& form) {
  if (form.take("async")) return decode_async_reduction(form);
  take_atomic(form, false);
}

}  // namespace

std::span<const Operation> atomic_operations() {
  static constexpr Operation kOperations[] = {
      {"atom", Operands::any, decode_atom},
      {"red", Operands::any, decode_red},
  };
  return kOperations;
}

}  // namespace evo::vgpu
