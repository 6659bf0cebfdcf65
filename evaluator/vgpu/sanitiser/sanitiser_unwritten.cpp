#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"

// Values that nobody has written, from the load that finds them to what depends on them. Kernels may load padding and
// throw it away, as merges do that look one element beyond their end, and copy it: what moves bits moves the flags
// with them, through registers and into memory. Arithmetic hands such values on, and a predicate may leave them out.
// Everything else reports the load, as does a store to an output of what arithmetic made of it. What shared or local
// memory gets of it is reported once something depends on that. A shuffle hands on what the source
// lane has; if that lane takes no part, the value is as undefined as one that nobody has written.
namespace evo::vgpu {
namespace {

/// Lane by lane, without effect but for the registers that are written.
bool computes(OpClass op_class) {
  return op_class <= OpClass::convert_from_fp8;
}

std::string_view opcode_of(const Kernel& kernel, std::uint32_t code) {
  return kernel.opcodes[kernel.opcode_of[code]];
}

const TracedInstruction& traced_of(const Warp& warp, const Instruction& in) {
  const Kernel& kernel = *warp.launch->kernel;
  return kernel.trace.traced[kernel.index_of(in)];
}

RegisterBits of_lanes(const RegisterBits& bits, std::uint32_t lanes) {
  RegisterBits some = bits;
  for (std::size_t lane = 0; lane < some.size(); ++lane)
    if ((lanes >> lane & 1u) == 0) some[lane] = 0;
  return some;
}

RegisterBits all_bits(std::uint32_t lanes) {
  RegisterBits bits;
  bits.fill(kAllLanes);
  return of_lanes(bits, lanes);
}

/// The registers that a store writes to memory, in their order; those of a number in the text are left out.
std::span<const std::uint16_t> data_of_store(const Instruction& in, const TracedInstruction& traced) {
  const bool wide = AccessMode::decoded(in.aux0).wide_base;
  const std::size_t address = (in.op[0] & kConstantBit) != 0 ? 0 : wide ? 2 : 1;
  const std::size_t guard = in.guard != 0 ? 1 : 0;
  if (traced.reads.size() < address + guard) return traced.reads.first(0);
  return traced.reads.subspan(address, traced.reads.size() - address - guard);
}

/// The register whose value a shuffle hands on; nothing where that is a number in the text.
std::optional<std::uint16_t> shuffled_register(const Instruction& in, const TracedInstruction& traced) {
  if ((in.op[2] & kConstantBit) != 0 || traced.reads.empty()) return std::nullopt;
  return traced.reads[0];
}

bool is_plain_store(const TracedInstruction& traced, std::string_view opcode) {
  return traced.op_class == OpClass::store && opcode.starts_with("st.");
}

}  // namespace

std::uint32_t WarpWatch::unwritten_lanes(std::span<const std::uint16_t> registers) const {
  std::uint32_t lanes = 0;
  for (const UnwrittenValue& value : unwritten)
    for (const std::uint16_t number : registers)
      if (value.number == number) lanes |= value.lanes();
  return lanes;
}

namespace {

template <class Counts>
RegisterBits bits_of(std::span<const UnwrittenValue> values, std::uint16_t number, Counts counts) {
  RegisterBits bits{};
  for (const UnwrittenValue& value : values) {
    if (value.number != number || !counts(value)) continue;
    for (std::size_t lane = 0; lane < bits.size(); ++lane) bits[lane] |= value.bits[lane];
  }
  return bits;
}

}  // namespace

RegisterBits WarpWatch::unwritten_bits(std::uint16_t number, const UnwrittenLoad& load, Way way) const {
  return bits_of(unwritten, number,
                 [&](const UnwrittenValue& value) { return value.load.get() == &load && value.way == way; });
}

RegisterBits WarpWatch::unwritten_bits(std::uint16_t number) const {
  return bits_of(unwritten, number, [](const UnwrittenValue&) { return true; });
}

void WarpWatch::forget_unwritten(std::span<const std::uint16_t> registers, std::uint32_t lanes) {
  for (UnwrittenValue& value : unwritten)
    for (const std::uint16_t number : registers)
      if (value.number == number) value.bits = of_lanes(value.bits, ~lanes);
  std::erase_if(unwritten, [](const UnwrittenValue& value) { return value.lanes() == 0; });
}

void Sanitiser::loaded_unwritten(Warp& warp, const Instruction& in, std::uint32_t bytes, const MissingBits& missing,
                                 UnwrittenLoad load) {
  const Kernel& kernel = *warp.launch->kernel;
  const TracedInstruction& traced = traced_of(warp, in);
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  const Elements elements = elements_of(opcode_of(kernel, traced.index), bytes);
  load.order = unwritten_loads_++;
  const auto origin = std::make_shared<const UnwrittenLoad>(std::move(load));
  const bool known = traced.writes.size() == elements.count * elements.words();
  for (std::size_t i = 0; i < traced.writes.size(); ++i) {
    RegisterBits bits{};
    const std::size_t words = elements.words();
    for (std::size_t at = 0; at < bytes; ++at) {
      const std::size_t inside = at % elements.bytes;
      if (known && i != at / elements.bytes * words + inside / 4) continue;
      for (std::size_t lane = 0; lane < bits.size(); ++lane)
        bits[lane] |= known ? std::uint32_t{missing[lane][at]} << 8 * (inside % 4)
                            : 0u - static_cast<std::uint32_t>(missing[lane][at] != 0);
    }
    if (lanes_of(bits) != 0) mine.unwritten.push_back({traced.writes[i], bits, {}, origin});
  }
}

void Sanitiser::loaded_matrices(Warp& warp, const Instruction& in, const MissingBits& missing, UnwrittenLoad load) {
  const TracedInstruction& traced = traced_of(warp, in);
  const bool transposed = opcode_of(*warp.launch->kernel, traced.index).find(".trans") != std::string_view::npos;
  load.order = unwritten_loads_++;
  const auto origin = std::make_shared<const UnwrittenLoad>(std::move(load));
  for (std::size_t matrix = 0; matrix < traced.writes.size(); ++matrix) {
    RegisterBits bits{};
    for (std::size_t lane = 0; lane < 32; ++lane) {
      for (std::size_t byte = 0; byte < 4; ++byte) {
        // Elements of 2 bytes: a lane has two neighbours of a row, or of a column.
        const std::size_t row = transposed ? lane % 4 * 2 + byte / 2 : lane / 4;
        const std::size_t column = transposed ? lane / 4 : lane % 4 * 2 + byte / 2;
        bits[lane] |= std::uint32_t{missing[8 * matrix + row][2 * column + byte % 2]} << 8 * byte;
      }
    }
    if (lanes_of(bits) != 0)
      block_watch(*warp.block).warps[warp.index].unwritten.push_back({traced.writes[matrix], bits, {}, origin});
  }
}

void Sanitiser::report_unwritten(Warp& warp, const UnwrittenLoad& load) {
  if (!reported(FindingKind::uninitialised, warp, *load.in, kNowhere))
    report(FindingKind::uninitialised, warp, *load.in, load.lane, load.what);
}

namespace {

/// What an element of so many bytes, which lies in `registers`, has of the value in a lane.
std::uint64_t bits_in(const UnwrittenValue& value, std::span<const std::uint16_t> registers, std::size_t lane,
                      std::size_t bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < registers.size(); ++i)
    if (value.number == registers[i]) bits |= std::uint64_t{value.bits[lane]} << 32 * i;
  return bytes >= 8 ? bits : bits & ((1ull << 8 * bytes) - 1);
}

}  // namespace

bool Sanitiser::lies_beside_written(const Warp& warp, const UnwrittenValue& value, std::uint64_t bits, int lane) {
  const UnwrittenLoad& load = *value.load;
  if (value.way.moved || load.bytes > 8) return false;
  const Spot spot = locate(warp, load.mode, lane, load.address[static_cast<std::size_t>(lane)]);
  if (spot.written == nullptr) return false;
  std::uint64_t missing = 0;
  for (std::size_t i = 0; i < load.bytes; ++i)
    missing |= std::uint64_t{spot.written->unwritten_bits(spot.at + i)} << 8 * i;
  return (bits & ~missing) == 0 && static_cast<std::size_t>(std::popcount(missing)) != 8 * load.bytes;
}

void Sanitiser::stored_unwritten(Warp& warp, const Instruction& in, int lane, std::uint32_t bytes, const Spot& spot) {
  const TracedInstruction& traced = traced_of(warp, in);
  const std::string_view opcode = opcode_of(*warp.launch->kernel, traced.index);
  if (!is_plain_store(traced, opcode)) return;
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  std::span<const std::uint16_t> data = data_of_store(in, traced);
  const Elements elements = elements_of(opcode, bytes);
  const auto own = static_cast<std::size_t>(lane);
  std::vector<std::shared_ptr<const UnwrittenLoad>> leaving;
  for (std::size_t element = 0; element < elements.count; ++element) {
    if ((in.op[1 + element] & kConstantBit) != 0) continue;
    if (data.size() < elements.words()) break;
    const std::span<const std::uint16_t> registers = data.first(elements.words());
    const std::size_t begin = element * elements.bytes;
    std::uint64_t unwritten = 0;
    for (const UnwrittenValue& value : mine.unwritten) unwritten |= bits_in(value, registers, own, elements.bytes);
    for (std::size_t i = 0; i < elements.bytes; ++i)
      if (const auto some = static_cast<std::uint8_t>(unwritten >> 8 * i); some != 0)
        spot.written->set_unwritten_bits(spot.at + begin + i, some);
    // Where it goes to global memory nobody can say what becomes of it. Padding may, and what is around a field.
    for (const UnwrittenValue& value : mine.unwritten) {
      const std::uint64_t bits = bits_in(value, registers, own, elements.bytes);
      if (spot.buffer == nullptr || bits == 0) continue;
      const bool padding = !value.way.split && (value.load->no_padding >> lane & 1u) == 0;
      if (!padding && !lies_beside_written(warp, value, bits, lane)) leaving.push_back(value.load);
    }
    data = data.subspan(elements.words());
  }
  for (const auto& load : leaving) {
    report_unwritten(warp, *load);
    std::erase_if(mine.unwritten, [&](const UnwrittenValue& value) { return value.load == load; });
  }
  if (!leaving.empty()) spot.written->set(spot.at, bytes, true);
}

namespace {

/// Of the lanes whose sources nobody has written, those whose result does not depend on them.
std::uint32_t left_out(const Warp& warp, const Instruction& in, const TracedInstruction& traced,
                       const WarpWatch& watch) {
  const std::string_view opcode = opcode_of(*warp.launch->kernel, traced.index);
  if (opcode != "and.pred" && opcode != "or.pred") return 0;
  // The predicates are the last two that are read, but for the guard; one whose lanes are written and that decides
  // alone is enough.
  const std::size_t guard = in.guard != 0 ? 1 : 0;
  if (traced.reads.size() < 2 + guard) return 0;
  const std::uint32_t decides = opcode == "or.pred" ? kAllLanes : 0;
  const auto settled = [&](std::size_t from_end, std::uint32_t operand) {
    const std::uint32_t unknown = watch.unwritten_lanes(traced.reads.subspan(traced.reads.size() - from_end, 1));
    return ~(get_predicate(warp, operand) ^ decides) & ~unknown;
  };
  return settled(2 + guard, in.op[1]) | settled(1 + guard, in.op[2]);
}

}  // namespace

/// Arithmetic: what it writes depends on what it reads.
void Sanitiser::hand_on(Warp& warp, const Instruction& in, std::uint32_t mask) {
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  const TracedInstruction& traced = traced_of(warp, in);
  const std::string_view opcode = opcode_of(*warp.launch->kernel, traced.index);
  const std::span<const std::uint16_t> sources = traced.reads.first(traced.reads.size() - (in.guard != 0 ? 1 : 0));
  std::vector<std::pair<std::shared_ptr<const UnwrittenLoad>, Way>> origins;
  for (const UnwrittenValue& value : mine.unwritten) {
    const std::pair origin(value.load, value.way);
    const bool read = std::ranges::find(sources, value.number) != sources.end();
    if (read && std::ranges::find(origins, origin) == origins.end()) origins.push_back(origin);
  }
  std::vector<RegisterBits> unknown;
  for (const std::uint16_t number : sources) unknown.push_back(mine.unwritten_bits(number));
  std::vector<UnwrittenValue> results;
  UnwrittenValue computed{0, {}, kComputed, nullptr};  // From all of them; the earliest is named.
  for (const auto& [load, way] : origins) {
    std::vector<RegisterBits> marked;
    std::uint32_t lanes = 0;
    for (const std::uint16_t number : sources) {
      marked.push_back(mine.unwritten_bits(number, *load, way));
      lanes |= lanes_of(marked.back());
    }
    const auto moved = moved_bits(warp, in, opcode, marked, unknown, traced.writes.size());
    if (!moved) {
      computed.bits = all_bits(computed.lanes() | lanes);
      if (computed.load == nullptr || load->order < computed.load->order) computed.load = load;
      continue;
    }
    const Way longer = way | way_through(warp, in, opcode, marked, *moved);
    for (std::size_t i = 0; i < traced.writes.size(); ++i) {
      const RegisterBits bits = of_lanes((*moved)[i], mask);
      if (lanes_of(bits) != 0) results.push_back({traced.writes[i], bits, longer, load});
    }
  }
  computed.bits = of_lanes(computed.bits, mask & ~left_out(warp, in, traced, mine));
  for (const std::uint16_t number : traced.writes) {
    if (computed.lanes() == 0) break;
    computed.number = number;
    results.push_back(computed);
  }
  mine.forget_unwritten(traced.writes, mask);
  mine.unwritten.insert(mine.unwritten.end(), results.begin(), results.end());
}

void Sanitiser::before_instruction(Warp& warp, const Instruction& in, std::uint32_t mask) {
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  if (origins_->follows(warp.launch->kernel->index_of(in))) origins_->follow(warp, in, mask, mine.origins);
  if (mine.unwritten.empty()) return;
  const TracedInstruction& traced = traced_of(warp, in);
  if (mine.unwritten_lanes(traced.reads) == 0) return mine.forget_unwritten(traced.writes, mask);
  const bool hands_on = computes(traced.op_class);
  const bool shuffles = traced.op_class == OpClass::shuffle;
  const bool stores = is_plain_store(traced, opcode_of(*warp.launch->kernel, traced.index));
  const std::span<const std::uint16_t> data = stores ? data_of_store(in, traced) : traced.reads.first(0);
  const auto is_data = [&](std::size_t i) {
    const auto begin = static_cast<std::size_t>(data.data() - traced.reads.data());
    return i >= begin && i < begin + data.size();
  };
  std::vector<std::shared_ptr<const UnwrittenLoad>> used;
  for (std::size_t i = 0; i < traced.reads.size(); ++i) {
    // The guard is the last operand read. Its value matters for the lanes that it disables, too.
    const bool guards = in.guard != 0 && i + 1 == traced.reads.size();
    if ((hands_on && !guards) || (shuffles && i == 0 && shuffled_register(in, traced))) continue;
    const std::uint32_t lanes = guards ? warp.active : mask;
    for (const UnwrittenValue& value : mine.unwritten) {
      if (value.number != traced.reads[i] || (value.lanes() & lanes) == 0) continue;
      if (!is_data(i) && std::ranges::find(used, value.load) == used.end()) used.push_back(value.load);
    }
  }
  for (const auto& load : used) {
    report_unwritten(warp, *load);
    std::erase_if(mine.unwritten, [&](const UnwrittenValue& value) { return value.load == load; });
  }
  if (hands_on) return hand_on(warp, in, mask);
  if (shuffles) return;  // Its lanes may have to wait for each other: shuffled() follows.
  mine.forget_unwritten(traced.writes, mask);
}

void Sanitiser::shuffled(Warp& warp, std::span<const Executing> executing, std::span<const std::int32_t, 32> from) {
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  std::uint32_t present = 0;
  for (const Executing& some : executing) present |= some.lanes;
  const auto source_of = [&](int lane) { return static_cast<std::uint32_t>(from[static_cast<std::size_t>(lane)]); };
  std::vector<UnwrittenValue> results;
  for (const Executing& to : executing) {
    const std::uint16_t target = traced_of(warp, *to.in).writes[0];
    std::uint32_t undefined = 0;
    for (const int lane : lanes_of(to.lanes))
      if ((present >> source_of(lane) & 1u) == 0) undefined |= 1u << lane;
    if (undefined != 0) {
      const int lane = std::countr_zero(undefined);
      UnwrittenLoad load{to.in, lane, {}, undefined, unwritten_loads_++};
      load.what =
          fmt::format("takes the value of lane {}, which does not take part (lanes {:#010x} do): it is undefined",
                      source_of(lane), present);
      results.push_back(
          {target, all_bits(undefined), kComputed, std::make_shared<const UnwrittenLoad>(std::move(load))});
    }
    for (const UnwrittenValue& value : mine.unwritten) {
      RegisterBits bits{};
      for (const Executing& source : executing) {
        if (shuffled_register(*source.in, traced_of(warp, *source.in)) != value.number) continue;
        for (const int lane : lanes_of(to.lanes)) {
          if ((source.lanes >> source_of(lane) & 1u) != 0)
            bits[static_cast<std::size_t>(lane)] |= value.bits[source_of(lane)];
        }
      }
      if (lanes_of(bits) != 0) results.push_back({target, bits, value.way | Way{false, true}, value.load});
    }
  }
  for (const Executing& to : executing) mine.forget_unwritten(traced_of(warp, *to.in).writes, to.lanes);
  mine.unwritten.insert(mine.unwritten.end(), results.begin(), results.end());
}

}  // namespace evo::vgpu
