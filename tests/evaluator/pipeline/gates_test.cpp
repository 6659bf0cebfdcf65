#include "evaluator/pipeline/gates.h"

#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <set>

#include "evaluator/compile/ptx_text.h"
#include "evaluator/compile/ptxas_log.h"
#include "tests/evaluator/toy_task.h"
#include "tests/evaluator/worker/fake_tools.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

Candidate with(const std::function<void(Plan&)>& change) {
  Candidate candidate = toy_candidate(toy_options(), "honest");
  change(candidate.programs[0].plans.begin()->second);
  return candidate;
}

std::string why_illegal(const std::function<void(Plan&)>& change, const DeviceInfo& device = fake_device_info()) {
  const auto failure = check_legality(with(change), device);
  if (!failure) return "";
  CHECK(failure->verdict == Verdict::illegal);
  return failure->reason;
}

constexpr const char* kLog =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'attention' for 'sm_90a'\n"
    "ptxas info    : Function properties for attention\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 2 barriers, 1024 bytes smem\n"
    "ptxas info    : Compiling entry function 'combine' for 'sm_90a'\n"
    "ptxas info    : Function properties for combine\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 24 registers, used 0 barriers\n";

Launch launch_of(const std::string& kernel, std::uint32_t threads, std::uint32_t smem) {
  Launch launch;
  launch.kernel = kernel;
  launch.block = {threads, 1, 1};
  launch.dynamic_smem_bytes = smem;
  return launch;
}

std::optional<Failure> check(const Launch& launch, const std::string& log = kLog, const std::string& ptx = "") {
  Program program;
  program.plans["s"].launches = {launch};
  Binary binary;
  binary.ptx = ptx;
  binary.build.kernels = kernel_builds(log);
  return check_build(program, binary, fake_device_info());
}

}  // namespace

TEST_CASE("a plan within the limits is legal") {
  CHECK(why_illegal([](Plan&) {}).empty());
  CHECK(why_illegal([](Plan& plan) {
          plan.launches[0].cluster = {2, 1, 1};
          plan.launches[0].grid = {4, 1, 1};
        }).empty());
}

TEST_CASE("each limit of a launch is checked and named") {
  CHECK_THAT(why_illegal([](Plan& p) { p.launches[0].block = {1024, 2, 1}; }), ContainsSubstring("2048 threads"));
  CHECK_THAT(why_illegal([](Plan& p) { p.launches[0].block = {1, 1, 65}; }), ContainsSubstring("block"));
  CHECK_THAT(why_illegal([](Plan& p) { p.launches[0].grid = {1, 65536, 1}; }), ContainsSubstring("grid"));
  CHECK_THAT(why_illegal([](Plan& p) { p.launches[0].grid = {0, 1, 1}; }), ContainsSubstring("grid"));
  CHECK_THAT(why_illegal([](Plan& p) { p.launches[0].dynamic_smem_bytes = 232449; }),
             ContainsSubstring("232449 bytes"));
  CHECK_THAT(why_illegal([](Plan& p) { p.launches[0].arguments[0].index = 3; }), ContainsSubstring("names nothing"));
  CHECK_THAT(why_illegal([](Plan& p) { p.launches.clear(); }), ContainsSubstring("launches nothing"));
  CHECK_THAT(why_illegal([](Plan& p) {
               p.launches[0].grid = {16, 1, 1};
               p.launches[0].cluster = {16, 1, 1};
             }),
             ContainsSubstring("cluster"));
  CHECK_THAT(why_illegal([](Plan& p) {
               p.launches[0].grid = {3, 1, 1};
               p.launches[0].cluster = {2, 1, 1};
             }),
             ContainsSubstring("multiple"));
  DeviceInfo ada = fake_device_info();
  ada.limits.sm = 89;
  CHECK_THAT(why_illegal([](Plan& p) { p.launches[0].cluster = {2, 1, 1}; }, ada), ContainsSubstring("sm_90"));
}

TEST_CASE("workspaces whose sizes would wrap around are illegal") {
  CHECK_THAT(why_illegal([](Plan& p) {
               p.workspaces = {{"a", UINT64_MAX - 10, false}, {"b", 100, false}};
             }),
             ContainsSubstring("workspaces"));
}

TEST_CASE("tensor maps obey the rules of the driver") {
  const TensorMap good{"m", {Argument::Kind::tensor, 0}, DType::f16, {64, 512}, {128}, {64, 64}, 128};
  const auto reason = [&](const std::function<void(TensorMap&)>& change) {
    TensorMap map = good;
    change(map);
    return why_illegal([&](Plan& plan) { plan.tensor_maps = {map}; });
  };
  CHECK(reason([](TensorMap&) {}).empty());
  CHECK_THAT(reason([](TensorMap& m) { m.box[1] = 257; }), ContainsSubstring("box side"));
  CHECK_THAT(reason([](TensorMap& m) { m.strides_bytes[0] = 100; }), ContainsSubstring("stride"));
  CHECK_THAT(reason([](TensorMap& m) { m.box[0] = 128; }), ContainsSubstring("swizzle"));
  CHECK_THAT(reason([](TensorMap& m) { m.box.pop_back(); }), ContainsSubstring("agree"));
  CHECK_THAT(reason([](TensorMap& m) { m.source.index = 9; }), ContainsSubstring("source"));
}

TEST_CASE("a kernel that is launched programmatically must wait for the launches ahead") {
  const std::string waits =
      ".visible .entry attention(\n\t.param .u64 p\n)\n{\n\t@%p1 bra DONE;\n\tgriddepcontrol.wait;\nDONE: ret;\n}\n";
  const std::string hasty =
      ".visible .entry attention()\n{\n// griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n\tret;\n}\n"
      ".visible .entry combine()\n{\n\tgriddepcontrol.wait;\n\tret;\n}\n";
  Launch launch = launch_of("attention", 128, 0);
  CHECK_FALSE(check(launch, kLog, hasty));
  launch.programmatic = true;
  CHECK_FALSE(check(launch, kLog, waits));
  const auto failure = check(launch, kLog, hasty);
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::illegal);
  CHECK_THAT(failure->reason, ContainsSubstring("kernel attention is launched programmatically and never waits"));
  launch.kernel = "combine";
  CHECK_FALSE(check(launch, kLog, hasty));
  // In a function that it calls.
  launch.kernel = "attention";
  const std::string function =
      ".func settle()\n{\n\tgriddepcontrol.wait;\n\tret;\n}\n.visible .entry attention()\n{\n\t";
  CHECK_FALSE(check(launch, kLog, function + "{ call.uni settle, (); }\n\tret;\n}\n"));
  CHECK(check(launch, kLog, function + "ret;\n}\n"));
}

TEST_CASE("a kernel that waits for the whole grid must be resident as a whole") {
  const DeviceInfo device = fake_device_info();
  const auto refused = [&](std::uint32_t blocks, bool cooperative) {
    Program program;
    program.plans["s"].launches = {launch_of("attention", 128, 0)};
    program.plans["s"].launches[0].grid = {blocks, 1, 1};
    Binary binary;
    binary.build.kernels = kernel_builds(kLog);
    binary.build.kernels["attention"].cooperative = cooperative;
    const auto failure = check_build(program, binary, device);
    if (failure) CHECK(failure->verdict == Verdict::over_resources);
    return failure ? failure->reason : "";
  };
  CHECK(refused(3 * 132, true).empty());  // 168 registers: three blocks of 128 threads on each of 132 SMs.
  CHECK(refused(3 * 132 + 1, true) ==
        "kernel attention: it waits for the whole grid, but of its 397 blocks 396 are resident together: launch fewer");
  CHECK(refused(100000, false).empty());
}

TEST_CASE("PTX shows which kernels ask for the grid's barrier, in themselves or in functions") {
  const std::string ptx =
      ".func settle()\n{\n\tmov.u32 %r1, %envreg2;\n\tret;\n}\n"
      ".visible .entry calls()\n{\n\t{ call.uni settle, (); }\n\tret;\n}\n"
      ".visible .entry itself()\n{\n\tmov.u32 %r1, %envreg1;\n\tret;\n}\n"
      ".visible .entry other()\n{\n\tmov.u32 %r1, %envreg10; // %envreg1\n\tret;\n}\n";
  CHECK(ptx_text::cooperative_kernels(ptx) == std::set<std::string>{"calls", "itself"});
}

TEST_CASE("occupancy follows from registers, shared memory and threads") {
  const DeviceLimits limits = fake_device_info().limits;
  CHECK(resident_blocks({.registers = 168}, launch_of("k", 384, 0), limits) == 1);  // 12 warps x 5376 registers.
  CHECK(resident_blocks({.registers = 128}, launch_of("k", 128, 0), limits) == 4);
  CHECK(resident_blocks({.registers = 32}, launch_of("k", 1024, 0), limits) == 2);  // 2048 threads.
  CHECK(resident_blocks({.registers = 32}, launch_of("k", 32, 100000), limits) == 2);
  CHECK(resident_blocks({.registers = 255}, launch_of("k", 1024, 0), limits) == 0);
}

TEST_CASE("a build that fits passes, and each kernel is checked against its own resources") {
  CHECK(!check(launch_of("attention", 128, 0)));
  CHECK(!check(launch_of("combine", 1024, 0)));  // 24 registers: fits, though the program's maximum would not.
  const auto failure = check(launch_of("attention", 512, 0));
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::over_resources);
  CHECK_THAT(failure->reason, ContainsSubstring("168 registers"));
}

TEST_CASE("what a kernel takes that no plan launches refuses nobody") {
  const std::string spills =
      "ptxas info    : Compiling entry function 'unlaunched' for 'sm_90a'\n"
      "ptxas info    : Function properties for unlaunched\n"
      "    96 bytes stack frame, 64 bytes spill stores, 64 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 0 barriers\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient register resources for the wgmma pipeline in the function 'unlaunched'\n";
  CHECK(!check(launch_of("combine", 1024, 0), kLog + spills));
  const auto failure = check(launch_of("unlaunched", 32, 0), kLog + spills);
  REQUIRE(failure);
  CHECK(failure->reason == "kernel unlaunched: 128 bytes of register spills");
}

TEST_CASE("spills, serialised wgmma, too much shared memory and global variables are refused") {
  std::string spilling = kLog;
  spilling.replace(spilling.find("0 bytes spill stores"), 1, "16");
  CHECK(check(launch_of("attention", 128, 0), spilling)->verdict == Verdict::over_resources);
  CHECK(check(launch_of("attention", 128, 231500))->verdict ==
        Verdict::over_resources);  // The kernel has 1024 static bytes in addition.
  const std::string warning =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient register resources for the wgmma pipeline in the function 'attention'\n";
  CHECK(check(launch_of("attention", 128, 0), kLog + warning)->verdict == Verdict::over_resources);
  const auto global = check(launch_of("attention", 128, 0), kLog,
                            ".visible .global .align 4 .u32 counter;\n\tst.global.u32 [counter], %r1;\n");
  REQUIRE(global);
  CHECK(global->verdict == Verdict::illegal);
  CHECK_THAT(global->reason, ContainsSubstring("counter"));
}

TEST_CASE("the physical floor is the largest of launch, arithmetic and memory") {
  const PipelineOptions options = toy_options();
  Task task = options.task;
  DeviceInfo device = options.device;
  const Shape& shape = task.shape("large");
  CHECK(physical_floor(task, {}, shape, device, false).us() == 0.5);
  CHECK(physical_floor(task, {}, shape, device, false).bound() == "launch");
  task.bytes = Expression::constant(std::int64_t{100'000'000});
  // 1000 GB/s: 100 us; a warm run may have found 1 MiB of it in L2.
  CHECK_THAT(physical_floor(task, {}, shape, device, true).us(), WithinRel(100.0, 1e-9));
  CHECK_THAT(physical_floor(task, {}, shape, device, false).us(), WithinRel(100.0 - 1.048576, 1e-9));
  CHECK(physical_floor(task, {}, shape, device, false).bound() == "memory");
}

TEST_CASE("a timing without samples or with NaN is a harness failure, one below the floor an impossible time") {
  Timing timing;
  timing.shape = "s";
  CHECK(check_timing(timing, 1)->verdict == Verdict::harness_failed);
  timing.samples_us = {0.5};
  timing.median_us = 0.5;
  CHECK(check_timing(timing, 1)->verdict == Verdict::impossible_time);
  timing.median_us = std::numeric_limits<double>::quiet_NaN();
  CHECK(check_timing(timing, 1)->verdict == Verdict::harness_failed);
  timing.median_us = 0.96;
  CHECK(!check_timing(timing, 1));
}
