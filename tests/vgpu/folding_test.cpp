#include "evaluator/vgpu/decode/folding.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "evaluator/vgpu/cost/instruction_schedule.h"

using namespace evo::vgpu;

namespace {

PtxInstruction ptx(std::string_view opcode, OpClass op_class, std::vector<std::uint32_t> writes,
                   std::vector<std::uint32_t> reads, std::optional<std::uint64_t> constant = {}) {
  return {opcode, op_class, false, 0, std::move(reads), std::move(writes), constant};
}

PtxInstruction load(std::uint32_t to, std::uint32_t address) {
  return ptx("ld.shared.u32", OpClass::load, {to}, {address});
}

/// Registers from 100 on change: loads from a fixed address write them.
std::vector<Fate> fates(std::vector<PtxInstruction> instructions) {
  for (std::uint32_t reg = 100; reg < 110; ++reg) instructions.insert(instructions.begin(), load(reg, 99));
  std::vector<Fate> all = fates_of(instructions, 128);
  return {all.begin() + 10, all.end()};
}

Event event(std::uint32_t instruction, TracedSpace space = TracedSpace::none) {
  Event result;
  result.instruction = instruction;
  result.space = space;
  return result;
}

RecordedInstruction recorded(OpClass op_class, std::vector<std::uint16_t> reads, std::vector<std::uint16_t> writes) {
  RecordedInstruction result;
  result.op_class = op_class;
  result.reads = std::move(reads);
  result.writes = std::move(writes);
  return result;
}

std::vector<std::uint32_t> scheduled(const std::vector<RecordedInstruction>& instructions, std::vector<Event> events) {
  InstructionScheduler(instructions).schedule(events);
  std::vector<std::uint32_t> order;
  for (const Event& each : events) order.push_back(each.instruction);
  return order;
}

using Order = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a constant added to an address becomes the offset of the access") {
  const auto all = fates({ptx("add.s32", OpClass::integer, {1}, {100}, 64), load(2, 1)});
  CHECK(all[0] == Fate::folded);
  CHECK(all[1] == Fate::issues);
  // A sum that is also a value is computed.
  CHECK(fates({ptx("add.s32", OpClass::integer, {1}, {100}, 64), load(2, 1),
               ptx("mul.f32", OpClass::float_fma, {3}, {1, 1})})[0] == Fate::issues);
}

TEST_CASE("addresses that differ by a constant share the sum of their registers") {
  const auto all =
      fates({ptx("add.s32", OpClass::integer, {1}, {100, 101}), load(2, 1),
             ptx("add.s32", OpClass::integer, {3}, {101}, 640), ptx("add.s32", OpClass::integer, {4}, {100, 3}),
             load(5, 4), ptx("add.s32", OpClass::integer, {6}, {100, 102}), load(7, 6)});
  CHECK(all[0] == Fate::issues);
  CHECK(all[2] == Fate::folded);
  CHECK(all[3] == Fate::folded);
  CHECK(all[5] == Fate::issues);
}

TEST_CASE("pairs of operations become one instruction of three operands, longer chains remain") {
  const auto all =
      fates({ptx("shl.b32", OpClass::integer, {1}, {100}, 8), ptx("or.b32", OpClass::integer, {2}, {1, 101}),
             ptx("xor.b32", OpClass::integer, {3}, {102, 103}), ptx("and.b32", OpClass::integer, {4}, {3, 104}),
             ptx("xor.b32", OpClass::integer, {5}, {4, 105}), ptx("and.b32", OpClass::integer, {6}, {5, 106})});
  CHECK(all == std::vector<Fate>{Fate::folded, Fate::issues, Fate::folded, Fate::issues, Fate::folded, Fate::issues});
  // Not where another instruction wants the value too, or for some threads only.
  auto twice = fates({ptx("xor.b32", OpClass::integer, {3}, {102, 103}),
                      ptx("and.b32", OpClass::integer, {4}, {3, 104}), ptx("or.b32", OpClass::integer, {5}, {3, 104})});
  CHECK(twice[0] == Fate::issues);
  PtxInstruction guarded = ptx("xor.b32", OpClass::integer, {3}, {102, 103});
  guarded.guarded = true;
  CHECK(fates({guarded, ptx("and.b32", OpClass::integer, {4}, {3, 104})})[0] == Fate::issues);
}

TEST_CASE("values that depend only on the thread and the parameters are computed once") {
  const auto all = fates(
      {ptx("and.b32", OpClass::integer, {1}, {50}, 31), ptx("mul.lo.s32", OpClass::integer_multiply, {2}, {1}, 160),
       ptx("and.b32", OpClass::integer, {3}, {100}, 31), ptx("fma.rn.f32", OpClass::float_fma, {4}, {50, 50})});
  CHECK(all == std::vector<Fate>{Fate::once, Fate::once, Fate::issues, Fate::issues});
}

TEST_CASE("independent chains are interleaved, and no instruction passes one that it depends on") {
  const std::vector<RecordedInstruction> code = {
      recorded(OpClass::float_fma, {0}, {1}), recorded(OpClass::float_fma, {1}, {2}),
      recorded(OpClass::float_fma, {2}, {3}), recorded(OpClass::float_fma, {4}, {5}),
      recorded(OpClass::float_fma, {5}, {6}), recorded(OpClass::barrier, {}, {}),
      recorded(OpClass::float_fma, {7}, {8})};
  CHECK(scheduled(code, {event(0), event(1), event(2), event(3), event(4)}) == Order{0, 3, 1, 4, 2});
  CHECK(scheduled(code, {event(0), event(1), event(2), event(5), event(6)}) == Order{0, 1, 2, 5, 6});
}

TEST_CASE("loads pass only stores to other memory") {
  const std::vector<RecordedInstruction> code = {
      recorded(OpClass::load, {0}, {1}), recorded(OpClass::store, {0, 1}, {}), recorded(OpClass::load, {0}, {2})};
  CHECK(scheduled(code, {event(0, TracedSpace::global), event(1, TracedSpace::shared),
                         event(2, TracedSpace::global)}) == Order{0, 2, 1});
  CHECK(scheduled(code, {event(0, TracedSpace::global), event(1, TracedSpace::shared),
                         event(2, TracedSpace::shared)}) == Order{0, 1, 2});
}
