#include "tests/vgpu/gpu_for_tests.h"

using namespace evo::vgpu;

namespace {

struct Event {
  TracedInstruction instruction;
  std::uint32_t warp = 0;
  std::uint32_t active = 0;
  std::uint32_t paths = 1;
  MemoryAccess memory;
  std::size_t sectors = 0;
  BarrierArrival barrier;
  AsyncAction async;
};

class Recorder : public Tracer {
 public:
  void begin_block(const TracedBlock& block) override { blocks.push_back(block); }
  void issue(const TracedInstruction& instruction, const Issue& issue) override {
    Event event{instruction, issue.warp, issue.active, issue.branch_paths, {}, 0, {}, {}};
    if (issue.memory != nullptr) {
      event.memory = *issue.memory;
      event.sectors = issue.memory->sectors.size();
    }
    if (issue.barrier != nullptr) event.barrier = *issue.barrier;
    if (issue.async != nullptr) event.async = *issue.async;
    events.push_back(event);
  }
  void end_block() override { ++ended; }

  std::vector<Event> of(OpClass op_class, TracedSpace space = TracedSpace::none) const {
    std::vector<Event> found;
    for (const Event& event : events) {
      if (event.instruction.op_class != op_class) continue;
      if (space == TracedSpace::none || event.memory.space == space) found.push_back(event);
    }
    return found;
  }

  TestGpu gpu;  ///< Owns the kernel, into which events point.
  std::vector<TracedBlock> blocks;
  std::vector<Event> events;
  int ended = 0;
};

/// Traces blocks 0 and 2 of four, 64 threads each, of `__global__ void k(float* p, int n)` with n = 1.
std::unique_ptr<Recorder> traced(const std::string& body, std::uint32_t threads = 64) {
  auto recorder = std::make_unique<Recorder>();
  TestGpu& gpu = recorder->gpu;
  gpu.load_cuda("extern \"C\" __global__ void k(float* p, int n) {\n" + body + "\n}");
  gpu.trace_with(*recorder, {0, 2});
  const auto p = gpu.upload("p", std::vector<float>(65536, 1.0f));
  const auto failure = gpu.launch("k", {{4, 1, 1}, {threads, 1, 1}}, p, 1);
  if (failure) FAIL(failure->reason);
  return recorder;
}

}  // namespace

TEST_CASE("only the sampled blocks are traced, one after the other") {
  const auto recorder = traced("p[blockIdx.x] = n;");
  REQUIRE(recorder->blocks.size() == 2);
  CHECK(recorder->ended == 2);
  CHECK(recorder->blocks[0].index[0] == 0);
  CHECK(recorder->blocks[1].index[0] == 2);
  CHECK(recorder->blocks[0].warps == 2);
  for (const Event& event : recorder->events) {
    for (const std::uint16_t reg : event.instruction.reads) CHECK(reg < recorder->blocks[0].registers);
    for (const std::uint16_t reg : event.instruction.writes) CHECK(reg < recorder->blocks[0].registers);
  }
}

TEST_CASE("shared accesses take a pass for each word that a bank must serve") {
  const auto recorder = traced(R"(
    __shared__ __align__(16) volatile float s[2048];
    const int t = threadIdx.x;
    float x = s[t] + s[t * 2 * n] + s[t * 32 * n] + s[5 * n];
    float4 v = *(float4*)&s[t * 4 * n];
    p[t] = x + v.x + v.w;)",
                               32);
  const auto loads = recorder->of(OpClass::load, TracedSpace::shared);
  REQUIRE(loads.size() == 10);
  std::vector<std::uint32_t> wavefronts;
  for (std::size_t i = 0; i < 5; ++i) wavefronts.push_back(loads[i].memory.wavefronts);
  std::sort(wavefronts.begin(), wavefronts.end());
  CHECK(wavefronts == std::vector<std::uint32_t>{1, 1, 2, 4, 32});
  CHECK(loads[4].memory.bytes_per_lane == 16);
}

TEST_CASE("global accesses touch distinct sectors of 32 bytes") {
  const auto recorder = traced(R"(
    const int t = threadIdx.x;
    volatile float* q = p;
    float x = q[t] + q[t * 8] + q[t * 2 + 1];
    if (t < 4) x += q[t];
    q[1024] = x;)",
                               32);
  const auto loads = recorder->of(OpClass::load, TracedSpace::global);
  REQUIRE(loads.size() == 8);
  // The three terms come in any order; the guarded load last.
  std::vector<std::size_t> sectors = {loads[0].sectors, loads[1].sectors, loads[2].sectors};
  std::sort(sectors.begin(), sectors.end());
  CHECK(sectors == std::vector<std::size_t>{4, 8, 32});
  CHECK(loads[3].sectors == 1);
  CHECK(loads[3].memory.lanes == 0xf);
  const auto stores = recorder->of(OpClass::store, TracedSpace::global);
  REQUIRE(stores.size() == 2);
  CHECK(stores[0].sectors == 1);
}

TEST_CASE("arrivals at a barrier come before the events that follow it in any warp") {
  const auto recorder =
      traced("p[threadIdx.x] = 1;\n__syncthreads();\np[63 - threadIdx.x] += 2;\nasm volatile(\"bar.sync 3, 64;\");");
  const auto arrivals = recorder->of(OpClass::barrier);
  REQUIRE(arrivals.size() == 8);
  CHECK(arrivals[0].barrier.expected_warps == 2);
  CHECK(arrivals[0].barrier.id == 0);
  CHECK(arrivals[2].barrier.id == 3);
  CHECK(arrivals[2].barrier.expected_warps == 2);
  std::size_t seen = 0;
  for (const Event& event : recorder->events) {
    if (event.instruction.op_class == OpClass::barrier && event.barrier.id == 0) ++seen;
    // The load of `+=` is the first instruction after the barrier that touches memory.
    if (event.instruction.op_class == OpClass::load && event.memory.space == TracedSpace::global) {
      CHECK(seen % 2 == 0);
    }
  }
}

TEST_CASE("traces record divergent branches, the forms of products and the groups of waits") {
  const auto recorder = traced(R"(
    float d[4] = {0, 0, 0, 0};
    unsigned a = __float_as_uint(p[threadIdx.x]);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a));
    asm volatile("cp.async.wait_group 3;" ::: "memory");
    if (threadIdx.x & 1) { p[0] = d[0]; __threadfence(); } else { p[1] = d[1]; p[2] = d[2]; })",
                               32);
  const auto products = recorder->of(OpClass::matrix_product);
  REQUIRE(products.size() == 2);
  CHECK(products[0].instruction.mma.k == 32);
  CHECK(products[0].instruction.mma.a == MmaType::e4m3);
  CHECK(products[0].instruction.writes.size() == 4);
  CHECK(products[0].instruction.reads.size() >= 5);
  REQUIRE(recorder->of(OpClass::async_wait).size() == 2);
  CHECK(recorder->of(OpClass::async_wait)[0].instruction.pending_groups == 3);
  bool divides = false;
  for (const Event& event : recorder->of(OpClass::branch)) divides |= event.paths == 2;
  CHECK(divides);
  CHECK(recorder->of(OpClass::fence).size() == 2);
  CHECK(recorder->of(OpClass::fence)[0].active == 0xaaaaaaaau);
}

TEST_CASE("a cluster's barrier has a phase for each use, and traces record loads from another block's shared memory") {
  Recorder recorder;
  recorder.gpu.load_cuda(R"(
    typedef unsigned u32;
    extern "C" __global__ void k(u32* out) {
      __shared__ u32 mine[32];
      mine[threadIdx.x] = threadIdx.x;
      asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
      u32 rank, there, value, own;
      asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
      const u32 address = (u32)__cvta_generic_to_shared(mine + threadIdx.x);
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank ^ 1));
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(own) : "r"(there) : "memory");
      asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
      out[blockIdx.x * 32 + threadIdx.x] = value + own;
    })");
  recorder.gpu.trace_with(recorder, {1});
  const auto out = recorder.gpu.allocate("out", 256);
  TestGpu::Geometry geometry{{2, 1, 1}, {32, 1, 1}};
  geometry.cluster = {2, 1, 1};
  REQUIRE(!recorder.gpu.launch("k", geometry, out));
  const std::vector<Event> arrivals = recorder.of(OpClass::cluster_arrive), waits = recorder.of(OpClass::cluster_wait);
  REQUIRE(arrivals.size() == 2);
  REQUIRE(waits.size() == 2);
  CHECK(arrivals[0].async.phase != 0);
  CHECK(arrivals[0].async.phase == waits[0].async.phase);
  CHECK(arrivals[1].async.phase == waits[1].async.phase);
  CHECK(arrivals[0].async.phase != arrivals[1].async.phase);
  CHECK(recorder.of(OpClass::load, TracedSpace::remote_shared).size() == 1);
  CHECK(recorder.of(OpClass::load, TracedSpace::shared).size() == 1);
}
