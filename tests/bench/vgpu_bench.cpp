#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "evaluator/vgpu/loaded_module.h"
#include "evaluator/vgpu/machine/block_scheduler.h"

// How long the virtual GPU takes for a warp instruction. Each kernel is a loop of one instruction, repeated;
// the time is that of the whole loop over the instructions that it executed.
namespace {

using namespace evo;
using namespace evo::vgpu;

constexpr int kRepeats = 64;
constexpr std::uint32_t kTrips = 2000;

std::string loop_of(const std::string& instruction) {
  std::string body;
  for (int i = 0; i < kRepeats; ++i) body += instruction + "\n";
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 trips) {
  .reg .b32 a, b, c, n, m; .reg .b64 x, y, z, g, g16; .reg .b16 h; .reg .pred q;
  .reg .f32 f<4>; .reg .b32 w<8>; .reg .b32 s;
  .shared .align 16 .b8 tile[4096];
  ld.param.u64 g, [p]; ld.param.u32 m, [trips];
  mov.u32 a, %tid.x; mov.u32 b, 3; mov.u32 c, 5; mov.u32 n, 0; mov.b64 x, 7; mov.b64 y, 9; mov.b64 z, 1;
  mov.u32 s, tile; shl.b32 w7, a, 4; add.u32 s, s, w7; mul.wide.u32 x, a, 16; add.u64 g16, g, x; mul.wide.u32 x, a, 4; add.u64 g, g, x;
again:
)" + body +
         R"(
  add.u32 n, n, 1; setp.lt.u32 q, n, m; @q bra again;
  ret;
})";
}

/// The kernel `k` of a PTX text.
class Program {
 public:
  explicit Program(const std::string& ptx) : module_(memory_, ptx, Build{}), kernel_(module_.kernel("k")) {}

  std::uint64_t buffer() { return memory_.allocate(4096, "buffer"); }

  /// A launch of one warp, with values for the kernel's parameters in their order.
  vgpu::Launch launch(const auto&... arguments) {
    vgpu::Launch launch;
    launch.kernel = kernel_;
    launch.memory = &memory_;
    launch.block = {32, 1, 1};
    launch.numerics = tensor_core_numerics(90);
    launch.parameters.resize(kernel_->parameter_bytes);
    auto parameter = kernel_->parameters.begin();
    (std::memcpy(launch.parameters.data() + (parameter++)->offset, &arguments, sizeof arguments), ...);
    return launch;
  }

 private:
  GlobalMemory memory_;
  LoadedModule module_;
  const Kernel* kernel_;
};

void run_to_end(vgpu::Launch& launch, benchmark::State& state) {
  run_blocks(launch);
  if (launch.failure) state.SkipWithError(launch.failure->reason.c_str());
}

benchmark::Counter time_of_each(double count) {
  return {count, benchmark::Counter::kIsRate | benchmark::Counter::kInvert};
}

void run(benchmark::State& state, const std::string& instruction) {
  Program program(loop_of(instruction));
  const std::uint64_t buffer = program.buffer();
  std::uint64_t executed = 0;
  for (auto _ : state) {
    vgpu::Launch launch = program.launch(buffer, kTrips);
    run_to_end(launch, state);
    executed += launch.executed;
  }
  state.counters["per_instruction"] = time_of_each(static_cast<double>(executed));
}

struct Case {
  const char* name;
  const char* instruction;
};
constexpr Case kCases[] = {
    {"add.u32", "add.u32 a, a, b;"},
    {"add.u64", "add.u64 x, x, y;"},
    {"lop3", "lop3.b32 a, a, b, c, 0x96;"},
    {"mad.lo", "mad.lo.u32 a, a, b, c;"},
    {"fma.f32", "fma.rn.f32 f0, f1, f2, f0;"},
    {"max.f32", "max.f32 f0, f1, f0;"},
    {"fma.f16x2", "fma.rn.f16x2 a, b, c, a;"},
    {"setp", "setp.lt.s32 q, a, b;"},
    {"selp", "selp.b32 a, b, c, q;"},
    {"guarded add", "@q add.u32 a, a, b;"},
    {"ex2", "ex2.approx.ftz.f32 f0, f1;"},
    {"cvt.e4m3x2.f32", "cvt.rn.satfinite.e4m3x2.f32 h, f0, f1;"},
    {"shfl", "shfl.sync.bfly.b32 a, a, 1, 31, -1;"},
    {"ld.global.u32", "ld.global.u32 a, [g];"},
    {"st.global.u32", "st.global.u32 [g], b;"},
    {"ld.shared.v4", "ld.shared.v4.b32 {w0, w1, w2, w3}, [s];"},
    {"cp.async.16 and its wait", "cp.async.cg.shared.global [s], [g16], 16; cp.async.wait_all;"},
    {"ldmatrix.x4", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {w0, w1, w2, w3}, [s];"},
    {"mma.m16n8k16.f16",
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2,f3}, {w0,w1,w2,w3}, {w4,w5}, "
     "{f0,f1,f2,f3};"},
    {"mma.m16n8k32.e4m3",
     "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {f0,f1,f2,f3}, {w0,w1,w2,w3}, {w4,w5}, "
     "{f0,f1,f2,f3};"},
    {"mma.m16n8k32.s8",
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {w0,w1,w2,w3}, {w0,w1,w2,w3}, {w4,w5}, {w0,w1,w2,w3};"},
};

/// Products of a warpgroup with operands in shared memory, swizzled as TMA leaves them.
std::string product_loop() {
  std::string d = "{f0";
  for (int i = 1; i < 64; ++i) d += ",f" + std::to_string(i);
  std::string products;
  for (int i = 0; i < 4; ++i)
    products += "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 " + d + "}, a, b, p, 1, 1;\n";
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 trips) {
  .shared .align 1024 .b8 tile[24576];
  .reg .f32 f<64>; .reg .b32 s, t, n, m, w; .reg .b64 a, b; .reg .pred p, q;
  ld.param.u32 m, [trips]; mov.u32 s, tile; mov.u32 n, %tid.x; setp.eq.u32 p, 0, 0;
fill:
  mul.lo.u32 w, n, 0x9e3779b1; and.b32 w, w, 0xbfbfbfbf; shl.b32 t, n, 2; add.u32 t, t, s; st.shared.b32 [t], w;
  add.u32 n, n, 128; setp.lt.u32 q, n, 6144; @q bra fill;
  shr.u32 t, s, 4; cvt.u64.u32 a, t; or.b64 a, a, 0x4000004000010000; add.u64 b, a, 512;
  mov.u32 n, 0; bar.sync 0; fence.proxy.async; wgmma.fence.sync.aligned;
again:
  )" + products +
         R"(
  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
  add.u32 n, n, 1; setp.lt.u32 q, n, m; @q bra again;
  ret;
})";
}

void run_products(benchmark::State& state) {
  Program program(product_loop());
  constexpr std::uint32_t kGroups = 25;
  double products = 0;
  for (auto _ : state) {
    vgpu::Launch launch = program.launch(kGroups);
    launch.block = {128, 1, 1};
    run_to_end(launch, state);
    products += 4 * kGroups;
  }
  state.counters["per_product"] = time_of_each(products);
}

/// A launch of 256 independent blocks of 128 threads, 40 million warp instructions, on as many threads of the CPU as
/// the argument says: wall-clock time.
void run_blocks_on_threads(benchmark::State& state) {
  Program program(loop_of("fma.rn.f32 f0, f1, f2, f0;"));
  const std::uint64_t buffer = program.buffer();
  const std::uint32_t trips = 600;
  for (auto _ : state) {
    vgpu::Launch launch = program.launch(buffer, trips);
    launch.grid = {256, 1, 1};
    launch.block = {128, 1, 1};
    launch.threads = static_cast<int>(state.range(0));
    run_to_end(launch, state);
  }
}

const bool kRegistered = [] {
  benchmark::RegisterBenchmark("launch on threads", run_blocks_on_threads)
      ->Arg(1)
      ->Arg(2)
      ->Arg(4)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("wgmma.m64n128k32.e4m3", run_products);
  for (const Case& each : kCases) {
    benchmark::RegisterBenchmark(each.name, [&each](benchmark::State& state) { run(state, each.instruction); });
  }
  return true;
}();

}  // namespace

BENCHMARK_MAIN();
