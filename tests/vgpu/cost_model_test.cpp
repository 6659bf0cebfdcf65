#include "evaluator/vgpu/cost/cost_model.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <deque>
#include <vector>

#include "evaluator/vgpu/cost/trace_recorder.h"

namespace evo::vgpu {
namespace {

using Catch::Approx;

/// A made-up kernel: instructions, and blocks whose warps all issue the same sequence of them.
class Program {
 public:
  int add(OpClass op_class, std::vector<std::uint16_t> reads, std::vector<std::uint16_t> writes) {
    registers_.push_back({std::move(reads), std::move(writes)});
    TracedInstruction instruction;
    instruction.op_class = op_class;
    instruction.index = static_cast<std::uint32_t>(instructions_.size());
    instruction.reads = registers_.back().reads;
    instruction.writes = registers_.back().writes;
    instructions_.push_back(instruction);
    return static_cast<int>(instructions_.size()) - 1;
  }
  int multiply(MmaForm form, std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    const MmaRegisters counts = mma_registers(form);
    std::vector<std::uint16_t> reads, writes;
    for (int i = 0; i < counts.a; ++i) reads.push_back(static_cast<std::uint16_t>(a + i));
    for (int i = 0; i < counts.b; ++i) reads.push_back(static_cast<std::uint16_t>(b + i));
    for (int i = 0; i < counts.c; ++i) reads.push_back(static_cast<std::uint16_t>(c + i));
    for (int i = 0; i < counts.c; ++i) writes.push_back(static_cast<std::uint16_t>(c + i));
    const int at = add(OpClass::matrix_product, reads, writes);
    instructions_.back().mma = form;
    return at;
  }
  int multiply_as_warpgroup(MmaForm form, bool first_in_registers) {
    const int at = add(OpClass::warpgroup_product, {}, {});
    instructions_.back().mma = form;
    instructions_.back().first_in_registers = first_in_registers;
    return at;
  }
  int add_once(OpClass op_class, std::vector<std::uint16_t> reads, std::vector<std::uint16_t> writes) {
    const int at = add(op_class, std::move(reads), std::move(writes));
    instructions_.back().once = true;
    return at;
  }
  int wait_for_all_but(std::uint32_t groups) {
    const int at = add(OpClass::async_wait, {}, {});
    instructions_.back().pending_groups = groups;
    return at;
  }

  /// Issues an instruction in every warp.
  void run(int instruction, MemoryAccess memory = {}, BarrierArrival barrier = {}) {
    steps_.push_back({instruction, memory, barrier});
  }
  void run_barrier(int instruction, std::uint32_t warps) { run(instruction, {}, {0, warps, true}); }

  TraceRecorder traced(std::uint32_t warps) const {
    TraceRecorder recorder;
    trace(recorder, 0, warps, steps_.size());
    return recorder;
  }

  /// One more block, which runs the first steps.
  void trace(TraceRecorder& recorder, std::uint64_t number, std::uint32_t warps, std::size_t steps) const {
    TracedBlock block;
    block.number = number;
    block.warps = warps;
    block.registers = 256;
    recorder.begin_block(block);
    // As the interpreter does: each warp runs to the next barrier, then the next one.
    std::size_t from = 0;
    while (from < steps) {
      std::size_t to = from;
      while (to < steps && steps_[to].barrier.expected_warps == 0) ++to;
      to = std::min(to + 1, steps);
      for (std::uint32_t warp = 0; warp < warps; ++warp)
        for (std::size_t i = from; i < to; ++i) issue(recorder, warp, steps_[i]);
      from = to;
    }
    recorder.end_block();
  }

 private:
  struct Registers {
    std::vector<std::uint16_t> reads, writes;
  };
  struct Step {
    int instruction;
    MemoryAccess memory;
    BarrierArrival barrier;
  };
  void issue(TraceRecorder& recorder, std::uint32_t warp, const Step& step) const {
    Issue issue;
    issue.warp = warp;
    issue.active = ~0u;
    issue.memory = step.memory.space == TracedSpace::none ? nullptr : &step.memory;
    issue.barrier = step.barrier.expected_warps == 0 ? nullptr : &step.barrier;
    recorder.issue(instructions_[static_cast<std::size_t>(step.instruction)], issue);
  }
  std::deque<Registers> registers_;  // A deque, because instructions point into its elements.
  std::vector<TracedInstruction> instructions_;
  std::vector<Step> steps_;
};

MemoryAccess shared_access(std::uint32_t wavefronts) {
  return {TracedSpace::shared, ~0u, 4, wavefronts, {}};
}

std::vector<std::uint64_t> sectors(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = first + i;
  return all;
}

constexpr MmaForm kHalf{16, 8, 16, MmaType::f16, MmaType::f16, MmaType::f32, false};
constexpr MmaForm kE4m3{16, 8, 32, MmaType::e4m3, MmaType::e4m3, MmaType::f32, false};

LaunchConfig config(std::uint64_t blocks, std::uint32_t warps) {
  LaunchConfig launch;
  launch.kernel = "kernel";
  launch.blocks = blocks;
  launch.threads_per_block = 32 * warps;
  launch.registers_per_thread = 64;
  return launch;
}

const DeviceModel& h200() {
  return device_model("h200");
}

/// `count` additions. Each needs the result of the one `distance` before it.
Program additions(int count, int distance) {
  Program program;
  std::vector<int> adds;
  for (int i = 0; i < distance; ++i)
    adds.push_back(program.add(OpClass::float_fma, {static_cast<std::uint16_t>(i)}, {static_cast<std::uint16_t>(i)}));
  for (int i = 0; i < count; ++i) program.run(adds[static_cast<std::size_t>(i % distance)]);
  return program;
}

LaunchCost cost_of(const Program& program, std::uint32_t warps, std::uint64_t blocks = 132) {
  return model_launch(h200(), config(blocks, warps), program.traced(warps).trace());
}

TEST_CASE("an empty kernel costs the launch floor, and less when launched programmatically") {
  Program program;
  program.run(program.add(OpClass::leave, {}, {}));
  const LaunchCost plain = cost_of(program, 4);
  CHECK(plain.latency_us == Approx(h200().launch_floor_us).margin(0.05));
  CHECK(plain.bound == "launch");
  LaunchConfig early = config(132, 4);
  early.programmatic = true;
  CHECK(model_launch(h200(), early, program.traced(4).trace()).latency_us < plain.latency_us);
}

TEST_CASE("the same trace costs the same every time") {
  const Program program = additions(1000, 3);
  CHECK(cost_of(program, 8).latency_us == cost_of(program, 8).latency_us);
}

TEST_CASE("dependent additions take a latency each, independent ones one clock each") {
  const double chain = cost_of(additions(4000, 1), 1).sm_us;
  const double independent = cost_of(additions(4000, 4), 1).sm_us;
  const double clocks_per_us = h200().sustained_clock_ghz * 1e3;
  CHECK(chain * clocks_per_us == Approx(4000 * h200().latencies.fma).epsilon(0.02));
  CHECK(independent * clocks_per_us == Approx(4000).epsilon(0.02));
}

TEST_CASE("more warps hide the latency of a chain until issue is full") {
  const Program program = additions(4000, 1);
  const LaunchCost one = cost_of(program, 4), four = cost_of(program, 16), eight = cost_of(program, 32);
  CHECK(four.sm_us == Approx(one.sm_us).epsilon(0.05));
  CHECK(eight.sm_us == Approx(2 * four.sm_us).epsilon(0.05));
  CHECK_THAT(one.bound, Catch::Matchers::StartsWith("latency"));
  CHECK(eight.instructions_per_clock == Approx(4).epsilon(0.05));
}

TEST_CASE("MUFU takes sixteen results a clock") {
  Program program;
  for (std::uint16_t i = 0; i < 64; ++i)
    program.run(program.add(OpClass::special, {i}, {static_cast<std::uint16_t>(64 + i)}));
  const LaunchCost cost = cost_of(program, 32);
  CHECK(cost.sm_us * h200().sustained_clock_ghz * 1e3 == Approx(64 * 32 * 32 / 16.0).epsilon(0.05));
  CHECK(cost.binding == Pipe::special);
  CHECK(cost.bound == "MUFU");
}

TEST_CASE("bank conflicts cost their wavefronts") {
  const auto loads = [](std::uint32_t wavefronts) {
    Program program;
    const int load = program.add(OpClass::matrix_load, {0}, {1});
    for (int i = 0; i < 200; ++i) program.run(load, shared_access(wavefronts));
    return program;
  };
  const LaunchCost padded = cost_of(loads(1), 8), conflicted = cost_of(loads(8), 8);
  CHECK(conflicted.sm_us > 6 * padded.sm_us);
  CHECK(padded.bank_conflicts_per_block == 0);
  CHECK(conflicted.bank_conflicts_per_block == 200 * 8 * 7);
  CHECK(conflicted.binding == Pipe::shared_memory);
}

TEST_CASE("a copy pipeline of more stages hides the trip to L2") {
  // A tile: copy asynchronously, wait, synchronise, load from shared memory, multiply.
  const auto pipeline = [](std::uint32_t stages) {
    Program program;
    const int copy = program.add(OpClass::async_copy, {0}, {});
    const int commit = program.add(OpClass::async_commit, {}, {});
    const int wait = program.wait_for_all_but(stages - 1);
    const int barrier = program.add(OpClass::barrier, {}, {});
    const int load = program.add(OpClass::matrix_load, {1}, {2, 3, 4, 5});
    const int product = program.multiply(kHalf, 2, 6, 10);
    static const std::vector<std::uint64_t> touched = sectors(0, 16);
    const MemoryAccess from_global{TracedSpace::global, ~0u, 16, 4, touched};
    for (std::uint32_t i = 0; i + 1 < stages; ++i) {
      program.run(copy, from_global);
      program.run(commit);
    }
    for (int tile = 0; tile < 50; ++tile) {
      program.run(copy, from_global);
      program.run(commit);
      program.run(wait);
      program.run_barrier(barrier, 4);
      for (int i = 0; i < 8; ++i) {
        program.run(load, shared_access(4));
        program.run(product);
      }
      program.run_barrier(barrier, 4);
    }
    return program;
  };
  const LaunchCost one = cost_of(pipeline(1), 4), two = cost_of(pipeline(2), 4), three = cost_of(pipeline(3), 4);
  CHECK(two.sm_us < 0.8 * one.sm_us);
  CHECK(three.sm_us <= two.sm_us * 1.01);
  CHECK(one.stall_share[static_cast<int>(Stall::async_copy)] > 0.2);
  CHECK(three.stall_share[static_cast<int>(Stall::async_copy)] < one.stall_share[static_cast<int>(Stall::async_copy)]);
}

TEST_CASE("a barrier makes every warp wait for the slowest") {
  Program even;
  const int add = even.add(OpClass::float_fma, {0}, {0});
  const int barrier = even.add(OpClass::barrier, {}, {});
  for (int i = 0; i < 50; ++i) {
    even.run(add);
    even.run_barrier(barrier, 4);
  }
  const LaunchCost cost = cost_of(even, 4);
  CHECK(cost.sm_us * h200().sustained_clock_ghz * 1e3 >= 50 * h200().latencies.barrier);
  CHECK(cost.bound == "latency (barrier)");
  CHECK(cost.stall_share[static_cast<int>(Stall::barrier)] > 0.5);
}

TEST_CASE("independent products run at the tensor core's rate, dependent ones at its latency") {
  const auto products = [](int accumulators) {
    Program program;
    std::vector<int> all;
    for (int i = 0; i < accumulators; ++i)
      all.push_back(program.multiply(kHalf, 0, 4, static_cast<std::uint16_t>(8 + 4 * i)));
    for (int i = 0; i < 512; ++i) program.run(all[static_cast<std::size_t>(i % accumulators)]);
    return program;
  };
  const LaunchCost many = cost_of(products(8), 8), one = cost_of(products(1), 4);
  const double flops = 512.0 * 8 * 2 * 16 * 8 * 16;
  CHECK(flops / (many.sm_us * h200().sustained_clock_ghz * 1e3) == Approx(h200().mma.half).epsilon(0.05));
  CHECK(many.bound == "tensor core");
  CHECK(one.sm_us > 0.9 * 512 * h200().latencies.mma / (h200().sustained_clock_ghz * 1e3));
  CHECK_THAT(one.bound, Catch::Matchers::ContainsSubstring("tensor core"));
}

TEST_CASE("8-bit products on Hopper pay for their conversion unless operands are reused") {
  const auto products = [](MmaForm form, bool fresh) {
    Program program;
    const int load = program.add(OpClass::integer, {200}, {0, 1, 2, 3, 4, 5});
    std::vector<int> all;
    for (int i = 0; i < 8; ++i) all.push_back(program.multiply(form, 0, 4, static_cast<std::uint16_t>(8 + 4 * i)));
    for (int i = 0; i < 256; ++i) {
      if (fresh || i == 0) program.run(load);
      program.run(all[static_cast<std::size_t>(i % 8)]);
    }
    return program;
  };
  const double half = 2 * cost_of(products(kHalf, true), 8).sm_us;  // As many flops.
  const double reused = cost_of(products(kE4m3, false), 8).sm_us, fresh = cost_of(products(kE4m3, true), 8).sm_us;
  CHECK(reused == Approx(half).epsilon(0.15));
  CHECK(fresh > 1.5 * reused);
  // Ada's tensor cores take 8-bit floats: twice the rate of f16.
  const auto on_l4 = [&](MmaForm form) {
    return model_launch(device_model("l4"), config(58, 8), products(form, true).traced(8).trace()).sm_us;
  };
  CHECK(on_l4(kE4m3) == Approx(on_l4(kHalf)).epsilon(0.1));
}

TEST_CASE("a warpgroup's products wait for the banks that bring their operands") {
  const auto products = [](bool first_in_registers,
                           MmaForm form = {64, 8, 32, MmaType::e4m3, MmaType::e4m3, MmaType::f32}) {
    Program program;
    const int product = program.multiply_as_warpgroup(form, first_in_registers);
    const int commit = program.add(OpClass::warpgroup_commit, {}, {}),
              wait = program.add(OpClass::warpgroup_wait, {}, {});
    for (int i = 0; i < 400; ++i) program.run(product);
    program.run(commit);
    program.run(wait);
    return program;
  };
  // 8 columns keep the tensor cores busy for 4 clocks; the rows alone are 2 KiB, the columns 256 bytes.
  const double clocks_per_us = h200().sustained_clock_ghz * 1e3;
  const LaunchCost from_shared = cost_of(products(false), 8), from_registers = cost_of(products(true), 8);
  CHECK(from_shared.sm_us * clocks_per_us == Approx(400 * 2 * (2048 + 256) / h200().rates.shared_bytes).epsilon(0.05));
  CHECK(from_registers.sm_us < 0.7 * from_shared.sm_us);
  // Rows of 256 single bits are as short, and the tensor cores take longer: the banks delay nothing.
  const MmaForm bits{64, 8, 256, MmaType::b1, MmaType::b1, MmaType::s32};
  CHECK(cost_of(products(false, bits), 8).sm_us == Approx(cost_of(products(true, bits), 8).sm_us).epsilon(0.01));
}

TEST_CASE("waits for products stall on the tensor core, waits for copies on async copy") {
  Program products;
  const int product =
      products.multiply_as_warpgroup({64, 256, 32, MmaType::e4m3, MmaType::e4m3, MmaType::f32, false}, true);
  const int commit = products.add(OpClass::warpgroup_commit, {}, {}),
            wait = products.add(OpClass::warpgroup_wait, {}, {});
  Program copies;
  const int copy = copies.add(OpClass::async_copy, {}, {}), close = copies.add(OpClass::async_commit, {}, {});
  const int arrived = copies.wait_for_all_but(0);
  static const std::vector<std::uint64_t> touched = sectors(0, 16);
  for (int i = 0; i < 50; ++i) {
    for (const int step : {product, commit, wait}) products.run(step);
    copies.run(copy, {TracedSpace::global, ~0u, 16, 4, touched});
    for (const int step : {close, arrived}) copies.run(step);
  }
  const auto share = [](const Program& program, Stall stall) {
    return cost_of(program, 4).stall_share[static_cast<std::size_t>(stall)];
  };
  CHECK(share(products, Stall::tensor_core) > 0.9);
  CHECK(share(products, Stall::async_copy) == 0);
  CHECK(share(copies, Stall::async_copy) > 0.9);
  CHECK(share(copies, Stall::tensor_core) == 0);
}

TEST_CASE("making 8-bit floats takes longer than making f16") {
  const auto conversions = [](OpClass op_class) {
    Program program;
    for (std::uint16_t i = 0; i < 64; ++i)
      program.run(program.add(op_class, {i}, {static_cast<std::uint16_t>(64 + i)}));
    return cost_of(program, 32).sm_us;
  };
  CHECK(conversions(OpClass::convert_to_fp8) == Approx(2 * conversions(OpClass::convert_pack)).epsilon(0.05));
}

TEST_CASE("an instruction whose results are kept is issued once by each warp") {
  Program once, always;
  const int kept = once.add_once(OpClass::special, {0}, {1}), again = always.add(OpClass::special, {0}, {1});
  for (int i = 0; i < 100; ++i) {
    once.run(kept);
    always.run(again);
  }
  CHECK(cost_of(once, 4).pipe_use[static_cast<int>(Pipe::special)] * cost_of(once, 4).sm_us * 100 ==
        Approx(cost_of(always, 4).pipe_use[static_cast<int>(Pipe::special)] * cost_of(always, 4).sm_us));
}

TEST_CASE("registers, shared memory and threads limit the blocks on an SM") {
  const TraceRecorder traces = additions(10, 1).traced(4);
  LaunchConfig launch = config(1000, 4);
  launch.registers_per_thread = 32;
  CHECK(model_launch(h200(), launch, traces.trace()).blocks_per_sm == 16);
  CHECK(model_launch(h200(), launch, traces.trace()).occupancy_limit == "threads");
  launch.registers_per_thread = 168;
  CHECK(model_launch(h200(), launch, traces.trace()).blocks_per_sm == 3);
  CHECK(model_launch(h200(), launch, traces.trace()).occupancy_limit == "registers");
  launch.smem_bytes = 100 * 1024;
  CHECK(model_launch(h200(), launch, traces.trace()).blocks_per_sm == 2);
  CHECK(model_launch(h200(), launch, traces.trace()).occupancy_limit == "shared memory");
  CHECK(model_launch(device_model("l4"), launch, traces.trace()).blocks_per_sm == 1);
}

TEST_CASE("blocks that the SMs cannot hold run in further waves") {
  const Program program = additions(2000, 1);
  const LaunchCost one = cost_of(program, 4, 132), full = cost_of(program, 4, 132 * 8),
                   twice = cost_of(program, 4, 132 * 16);
  CHECK(one.waves < 1);
  CHECK(full.blocks_per_sm == 8);
  CHECK(twice.waves == Approx(2));
  CHECK(twice.sm_us == Approx(2 * full.sm_us).epsilon(0.1));
  CHECK(cost_of(program, 4, 133).sm_us >= one.sm_us);
}

TEST_CASE("a long run of blocks is extrapolated from whole waves") {
  const Program program = additions(20000, 1);
  const LaunchCost some = cost_of(program, 4, 132 * 16), many = cost_of(program, 4, 132 * 160);
  CHECK(many.sm_us == Approx(10 * some.sm_us).epsilon(0.02));
}

TEST_CASE("traffic through L2 and memory sets a floor") {
  Program program;
  const int load = program.add(OpClass::load, {0}, {1});
  std::vector<std::vector<std::uint64_t>> touched;
  for (std::uint64_t i = 0; i < 64; ++i) touched.push_back(sectors(16 * i, 16));
  for (const auto& each : touched) program.run(load, {TracedSpace::global, ~0u, 16, 0, each});
  LaunchConfig launch = config(132 * 64, 1);
  launch.footprint_bytes = 132LL * 64 * 64 * 16 * 32;
  const LaunchCost warm_but_large = model_launch(h200(), launch, program.traced(1).trace());
  CHECK(warm_but_large.memory_us == Approx(launch.footprint_bytes / 4800e3).epsilon(0.01));
  CHECK(warm_but_large.bound == "memory traffic");
  launch.footprint_bytes = 20 << 20;
  const LaunchCost warm = model_launch(h200(), launch, program.traced(1).trace());
  CHECK(warm.memory_us == 0);
  CHECK(warm.l2_us > 0);
  CHECK(warm.latency_us < warm_but_large.latency_us);
}

TEST_CASE("what is read and then written passes memory twice, what is only written once") {
  const auto memory_us = [](OpClass first, OpClass second) {
    Program program;
    const int one = program.add(first, {0}, {1}), other = program.add(second, {0, 1}, {});
    static std::vector<std::vector<std::uint64_t>> touched;
    if (touched.empty())
      for (std::uint64_t i = 0; i < 64; ++i) touched.push_back(sectors(16 * i, 16));
    for (const auto& each : touched) {
      program.run(one, {TracedSpace::global, ~0u, 16, 0, each});
      program.run(other, {TracedSpace::global, ~0u, 16, 0, each});
    }
    LaunchConfig launch = config(132 * 64, 1);
    launch.footprint_bytes = 132LL * 64 * 64 * 16 * 32;
    return model_launch(h200(), launch, program.traced(1).trace()).memory_us;
  };
  const double once = memory_us(OpClass::store, OpClass::store);
  CHECK(memory_us(OpClass::load, OpClass::load) == Approx(once));
  CHECK(memory_us(OpClass::load, OpClass::store) == Approx(2 * once));
  CHECK(memory_us(OpClass::store, OpClass::load) == Approx(once));
  CHECK(memory_us(OpClass::reduction, OpClass::reduction) == Approx(2 * once));
}

TEST_CASE("a cold launch waits for memory where a warm one waits for L2") {
  Program program;
  const int load = program.add(OpClass::load, {0}, {0});
  static const std::vector<std::vector<std::uint64_t>> touched = {sectors(0, 4), sectors(4, 4), sectors(8, 4)};
  for (const auto& each : touched) program.run(load, {TracedSpace::global, ~0u, 4, 0, each});
  program.run(program.add(OpClass::float_fma, {0}, {0}));
  LaunchConfig launch = config(132, 1);
  launch.footprint_bytes = 1 << 20;
  const double warm = model_launch(h200(), launch, program.traced(1).trace()).sm_us;
  launch.cold = true;
  const double cold = model_launch(h200(), launch, program.traced(1).trace()).sm_us;
  const double more = 3 * (h200().latencies.memory - h200().latencies.l2);
  CHECK((cold - warm) * h200().sustained_clock_ghz * 1e3 == Approx(more).epsilon(0.01));
}

TEST_CASE("a sector that the block has loaded before comes from L1") {
  const auto loads = [](bool again) {
    Program program;
    const int load = program.add(OpClass::load, {1}, {1});
    static std::vector<std::vector<std::uint64_t>> touched;
    if (touched.empty())
      for (std::uint64_t i = 0; i < 100; ++i) touched.push_back(sectors(4 * i, 4));
    for (std::size_t i = 0; i < 100; ++i) program.run(load, {TracedSpace::global, ~0u, 4, 0, touched[again ? 0 : i]});
    return program;
  };
  const LaunchCost fresh = cost_of(loads(false), 1), again = cost_of(loads(true), 1);
  CHECK(again.sm_us < 0.3 * fresh.sm_us);
  CHECK(again.global_bytes_per_block == 128);
  CHECK(fresh.global_bytes_per_block == 12800);
}

TEST_CASE("instructions that ptxas removes are free") {
  Program program;
  const int move = program.add(OpClass::nothing, {0}, {1});
  const int add = program.add(OpClass::float_fma, {1}, {0});
  Program alone;
  const int add_alone = alone.add(OpClass::float_fma, {0}, {0});
  for (int i = 0; i < 500; ++i) {
    program.run(move);
    program.run(add);
    alone.run(add_alone);
  }
  CHECK(cost_of(program, 1).sm_us == Approx(cost_of(alone, 1).sm_us));
}

TEST_CASE("a plan's launches follow each other") {
  const LaunchCost cost = cost_of(additions(4000, 1), 4);
  CHECK(model_plan({cost, cost}).latency_us == Approx(2 * cost.latency_us));
}

TEST_CASE("the prologue of a programmatic launch overlaps the preceding launch") {
  const auto waits_after = [](int additions) {
    Program program;
    const int add = program.add(OpClass::float_fma, {0}, {0});
    for (int i = 0; i < additions; ++i) program.run(add);
    program.run(program.add(OpClass::grid_wait, {}, {}));
    for (int i = additions; i < 4000; ++i) program.run(add);
    return program;
  };
  LaunchConfig launch = config(132, 4);
  const auto cost = [&](int before) { return model_launch(h200(), launch, waits_after(before).traced(4).trace()); };
  CHECK(cost(1000).latency_us == Approx(cost(0).latency_us).epsilon(0.001));
  launch.programmatic = true;
  CHECK(cost(1000).sm_us == Approx(cost(0).sm_us).epsilon(0.001));
  CHECK(cost(1000).latency_us == Approx(cost(0).latency_us - cost(0).sm_us / 4).epsilon(0.01));
}

TEST_CASE("a kernel of clusters takes another wave when the GPCs cannot hold all of them") {
  // GPCs of 18, 18, 18, 18, 16, 16, 14 and 14 SMs have room for 30 clusters of four, one block on an SM.
  const Program program = additions(4000, 1);
  LaunchConfig launch = config(120, 4);
  launch.smem_bytes = 200 * 1024;
  const auto cost = [&](std::uint64_t blocks, std::uint32_t cluster) {
    launch.blocks = blocks;
    launch.cluster = cluster;
    return model_launch(h200(), launch, program.traced(4).trace()).sm_us;
  };
  CHECK(cost(120, 4) == Approx(cost(120, 1)));
  CHECK(cost(124, 4) == Approx(2 * cost(120, 4)).epsilon(0.02));
  CHECK(cost(132, 1) == Approx(cost(120, 1)));
  CHECK(cost(132, 2) == Approx(cost(120, 1)));
}

TEST_CASE("another block's shared memory has a longer latency and a lower bandwidth") {
  const auto loads = [](TracedSpace space, int independent) {
    Program program;
    std::vector<int> all;
    for (int i = 0; i < independent; ++i)
      all.push_back(program.add(OpClass::load, {static_cast<std::uint16_t>(i)}, {static_cast<std::uint16_t>(i)}));
    for (int i = 0; i < 320; ++i) program.run(all[static_cast<std::size_t>(i % independent)], {space, ~0u, 16, 4, {}});
    return program;
  };
  const double clocks_per_us = h200().sustained_clock_ghz * 1e3;
  const double near = cost_of(loads(TracedSpace::shared, 1), 1).sm_us,
               far = cost_of(loads(TracedSpace::remote_shared, 1), 1).sm_us;
  CHECK((far - near) * clocks_per_us >= 320 * (h200().latencies.remote_shared - h200().latencies.shared));
  const double busy = cost_of(loads(TracedSpace::remote_shared, 32), 8).sm_us;
  CHECK(busy * clocks_per_us == Approx(320 * 8 * 512 / h200().rates.remote_shared_bytes).epsilon(0.05));
}

TEST_CASE("a long block in the middle stands for all, a short one does not") {
  constexpr std::size_t kLong = 200'000;
  const Program program = additions(kLong, 1);
  const auto latency = [](const TraceRecorder& traces) {
    return model_launch(h200(), config(3, 4), traces.trace()).latency_us;
  };
  const auto middle_first = [&](std::size_t steps) {
    TraceRecorder traces;
    program.trace(traces, 1, 4, steps);
    CHECK(traces.trace().middle_is_long() == (steps == kLong));
    return traces;
  };
  const auto all = [&](std::size_t steps) {
    TraceRecorder traces;
    for (const std::uint64_t number : {0, 1, 2}) program.trace(traces, number, 4, number == 1 ? steps : 10);
    return traces;
  };
  CHECK(latency(all(kLong)) == latency(middle_first(kLong)));
  CHECK(latency(all(1000)) != latency(middle_first(1000)));
  // Whatever the order in which they are traced.
  TraceRecorder other = middle_first(1000);
  program.trace(other, 0, 4, 10);
  program.trace(other, 2, 4, 10);
  CHECK(latency(other) == latency(all(1000)));
}

}  // namespace
}  // namespace evo::vgpu
