#include "tests/vgpu/conformance/warp_kernel.h"
#include "tests/vgpu/gpu_for_tests.h"

// Clusters of blocks, distributed shared memory, setmaxnreg.
using namespace evo::vgpu;

namespace {

const std::string kHelpers = R"(
  typedef unsigned u32; typedef unsigned long long u64;
  __device__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
  __device__ u32 rank() { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
  __device__ u32 size() { u32 r; asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
  __device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
  __device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
  __device__ void cluster_sync() { cluster_arrive(); cluster_wait(); }
  __device__ u32 map(u32 a, u32 r) { u32 d; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(r)); return d; }
  __device__ u32 peek(u32 a) { u32 v; asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); return v; }
  __device__ void init(u32 b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
  __device__ void expect(u32 b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
  __device__ void wait(u32 b, u32 p) {
    asm volatile("{ .reg .pred p;\nL: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@!p bra L; }" :: "r"(b), "r"(p) : "memory");
  }
)";

using Words = std::vector<std::uint32_t>;

struct ClusterRun {
  Words out;
  std::string reason;
};
ClusterRun run(const std::string& body, TestGpu::Geometry geometry = {{8, 1, 1}, {32, 1, 1}, 0, {4, 1, 1}, 0}) {
  TestGpu gpu;
  gpu.load_cuda(kHelpers + R"(extern "C" __global__ void k(u32* out, const u32* in) {
    __shared__ __align__(128) u32 data[64];
    __shared__ u64 barrier;
    const u32 b = at(&barrier), t = threadIdx.x, me = rank();
)" + body + "}");
  Words in(256);
  for (std::uint32_t i = 0; i < 256; ++i) in[i] = i * 3;
  const auto out = gpu.upload("out", Words(512, 0));
  const auto in_at = gpu.upload("in", in);
  const auto failure = gpu.launch("k", geometry, out, in_at);
  return {gpu.download<std::uint32_t>(out, 512), failure ? failure->reason : ""};
}

}  // namespace

TEST_CASE("registers describe cluster and rank") {
  const auto result = run(R"(
    u32 x, y, nx, gx, gy;
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(nx));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(gx));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(gy));
    if (t == 0) out[blockIdx.y * 4 + blockIdx.x] = me << 16 | size() << 12 | x << 10 | y << 8 | nx << 4 | gx << 2 | gy;)",
                          {{4, 2, 1}, {32, 1, 1}, 0, {2, 2, 1}, 0});
  REQUIRE(result.reason == "");
  for (std::uint32_t by = 0; by < 2; ++by) {
    for (std::uint32_t bx = 0; bx < 4; ++bx) {
      const std::uint32_t x = bx % 2, y = by % 2;
      CHECK(result.out[by * 4 + bx] ==
            ((y * 2 + x) << 16 | 4 << 12 | x << 10 | y << 8 | 2 << 4 | bx / 2 << 2 | by / 2));
    }
  }
}

TEST_CASE("blocks of a cluster read, write and use atomics in each other's shared memory") {
  const auto result = run(R"(
    data[t] = blockIdx.x * 100 + t;
    data[32 + t] = 0;
    cluster_sync();
    const u32 next = (me + 1) % 4;
    out[blockIdx.x * 64 + t] = peek(map(at(data + t), next));
    u32* generic = data + 32;
    u64 there; asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(generic), "r"(0));
    atomicAdd((u32*)there + t, me + 1);
    u32 owner; asm volatile("getctarank.u64 %0, %1;" : "=r"(owner) : "l"(there));
    cluster_sync();
    if (me == 0) out[blockIdx.x * 64 + 32 + t] = data[32 + t];
    else out[blockIdx.x * 64 + 32 + t] = owner;)");
  REQUIRE(result.reason == "");
  for (std::uint32_t block = 0; block < 8; ++block) {
    const std::uint32_t next = block / 4 * 4 + (block + 1) % 4;
    for (std::uint32_t t = 0; t < 32; ++t) {
      CHECK(result.out[block * 64 + t] == next * 100 + t);
      CHECK(result.out[block * 64 + 32 + t] == (block % 4 == 0 ? 10u : 0u));
    }
  }
}

TEST_CASE("an arrival at another block's mbarrier wakes its waiters") {
  const auto result = run(R"(
    if (t == 0) init(b, 3);
    cluster_sync();
    if (me != 0) {
      if (t == 0) {
        asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(map(at(data + me), 0)), "r"(me * 11) : "memory");
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(map(b, 0)) : "memory");
      }
    } else {
      wait(b, 0);
      if (t == 0) out[blockIdx.x] = data[1] + data[2] + data[3];
    })");
  REQUIRE(result.reason == "");
  CHECK(result.out[0] == 66);
  CHECK(result.out[4] == 66);
}

TEST_CASE("st.async and red.async deliver with their bytes") {
  const auto result = run(R"(
    data[t] = 100;
    if (t == 0) { init(b, 1); expect(b, 3 * 16 + 3 * 4); }
    cluster_sync();
    if (t == 0 && me != 0) {
      const u32 to = map(at(data + 4 * me), 0), sum = map(at(data), 0), bar = map(b, 0);
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%2, %3, %2, %3}, [%1];"
        :: "r"(to), "r"(bar), "r"(me), "r"(me + 20) : "memory");
      asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %2, [%1];"
        :: "r"(sum), "r"(bar), "r"(me) : "memory");
    }
    if (me == 0) { wait(b, 0); if (t < 16) out[blockIdx.x * 32 + t] = data[t]; }
    cluster_sync();)");
  REQUIRE(result.reason == "");
  CHECK(Words(result.out.begin(), result.out.begin() + 16) ==
        Words{106, 100, 100, 100, 1, 21, 1, 21, 2, 22, 2, 22, 3, 23, 3, 23});
}

TEST_CASE("a multicast copy lands in every block of its mask") {
  const auto result = run(R"(
    data[t] = 1;
    if (t == 0) { init(b, 1); if (me != 2) expect(b, 64); }
    cluster_sync();
    if (t == 0 && me == 1)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 64, [%2], %3;"
        :: "r"(at(data)), "l"(in + blockIdx.x * 16), "r"(b), "h"((short)0xb) : "memory");
    if (me != 2) wait(b, 0);
    out[blockIdx.x * 32 + t] = data[t];
    cluster_sync();)");
  REQUIRE(result.reason == "");
  for (std::uint32_t block = 0; block < 8; ++block) {
    for (std::uint32_t t = 0; t < 32; ++t) {
      const std::uint32_t from = (block / 4 * 4 + 1) * 16;
      CHECK(result.out[block * 32 + t] == (block % 4 == 2 || t >= 16 ? 1 : (from + t) * 3));
    }
  }
}

TEST_CASE("misuse of clusters is reported") {
  CHECK(contains(run("data[t] = 1;\nif (me == 0) out[t] = peek(map(at(data + t), 1) + 8192);").reason,
                 "shared memory of block"));
  CHECK(contains(run("if (me == 1) return;\ncluster_sync();\nif (me == 0) out[t] = peek(map(at(data), 1));").reason,
                 "has ended"));
  CHECK(contains(run("out[t] = map(at(data), 4);").reason, "rank 4 in a cluster of 4"));
  CHECK(contains(run("cluster_arrive(); cluster_arrive();").reason, "arrives again"));
  CHECK(contains(run("cluster_wait();").reason, "without having arrived"));
  const std::string stuck = run("if (me == 3 && t < 1) { init(b, 1); wait(b, 0); }\ncluster_sync();").reason;
  CHECK(contains(stuck, "deadlock"));
  CHECK(contains(stuck, "for the cluster"));
}

TEST_CASE("reductions in shared memory that complete on an mbarrier need a launch in clusters") {
  const std::string begin =
      "mov.u32 t0, smem; mov.b32 t1, 1; mov.b32 t2, 16; setp.eq.u32 p, lane, 0; @p mbarrier.init.shared.b64 [t0+512], "
      "1; bar.warp.sync -1;";
  for (const std::string reduction :
       {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [t0], t1, [t0+512];",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [t0], [t0+128], t2, "
        "[t0+512];"})
    for (const bool clusters : {false, true}) {
      TestGpu gpu;
      gpu.load_ptx(
          evo::conformance::warp_kernel(begin + "@p " + reduction, 0, 0, clusters ? ".reqnctapercluster 2, 1, 1" : ""));
      const auto buffer = gpu.allocate("buffer", 4);
      const auto failure = gpu.launch("k", {{2, 1, 1}, {32, 1, 1}, 0, {clusters ? 2u : 1u, 1, 1}}, buffer, buffer);
      CHECK((failure && contains(failure->reason, "a launch without clusters")) == !clusters);
    }
}

TEST_CASE("a kernel can fix its cluster size at compile time") {
  TestGpu gpu;
  gpu.load_cuda("extern \"C\" __global__ void __cluster_dims__(2, 1, 1) k(int* out) { out[0] = 1; }");
  CHECK(gpu.module().kernel("k")->required_cluster == std::array<std::uint32_t, 3>{2, 1, 1});
}

TEST_CASE("warps take registers that other warps have released") {
  const std::string body = R"(
    if (t < 128) asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
    else asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    out[t] = t;)";
  const auto given = run(body, {{1, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}, 128});
  CHECK(given.reason == "");
  CHECK(given.out[255] == 255);
  const auto lacking = run(body, {{1, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}, 104});
  CHECK(contains(lacking.reason, "waits in setmaxnreg.inc"));
  CHECK(contains(run("asm volatile(\"setmaxnreg.inc.sync.aligned.u32 64;\");\nout[t] = 1;",
                     {{1, 1, 1}, {128, 1, 1}, 0, {1, 1, 1}, 128})
                     .reason,
                 "more than 64"));
}
