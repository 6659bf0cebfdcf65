#include "tests/vgpu/gpu_for_tests.h"

// mbarrier objects (PTX ISA 9.0, 9.7.13.15).
using namespace evo::vgpu;

namespace {

/// Wraps mbarrier instructions as functions of an address in shared memory.
const std::string kBarriers = R"(
  typedef unsigned u32; typedef unsigned long long u64;
  __device__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
  __device__ void init(u32 b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
  __device__ u64 arrive(u32 b) { u64 s; asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(s) : "r"(b) : "memory"); return s; }
  __device__ u64 arrive(u32 b, u32 n) { u64 s; asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;" : "=l"(s) : "r"(b), "r"(n) : "memory"); return s; }
  __device__ void sink(u32 b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(b) : "memory"); }
  __device__ u64 drop(u32 b) { u64 s; asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(s) : "r"(b) : "memory"); return s; }
  __device__ u64 arrive_expect(u32 b, u32 n) { u64 s; asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;" : "=l"(s) : "r"(b), "r"(n) : "memory"); return s; }
  __device__ void expect(u32 b, u32 n) { asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
  __device__ void complete(u32 b, u32 n) { asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
  __device__ u32 pending(u64 s) { u32 n; asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(s)); return n; }
  __device__ u32 test(u32 b, u64 s) { u32 ok; asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(b), "l"(s) : "memory"); return ok; }
  __device__ u32 parity(u32 b, u32 p) { u32 ok; asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(b), "r"(p) : "memory"); return ok; }
  __device__ u32 try_for(u32 b, u32 p, u32 ns) { u32 ok; asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(b), "r"(p), "r"(ns) : "memory"); return ok; }
  __device__ void wait(u32 b, u32 p) { while (!try_for(b, p, 100)) {} }
)";

std::string kernel(const std::string& body) {
  return kBarriers +
         "extern \"C\" __global__ void k(u32* out) {\n__shared__ u64 storage[8];\nconst u32 b = at(storage);\nconst "
         "u32 t = threadIdx.x;\n" +
         body + "\n}";
}

std::vector<std::uint32_t> outputs(const std::string& body, std::uint32_t threads, std::size_t count) {
  TestGpu gpu;
  gpu.load_cuda(kernel(body));
  const auto out = gpu.upload("out", std::vector<std::uint32_t>(count, 0));
  const auto failure = gpu.launch("k", {{1, 1, 1}, {threads, 1, 1}}, out);
  if (failure) FAIL(failure->reason);
  return gpu.download<std::uint32_t>(out, count);
}

std::string finding(const std::string& body, std::uint32_t threads = 32) {
  TestGpu gpu;
  gpu.load_cuda(kernel(body));
  const auto out = gpu.upload("out", std::vector<std::uint32_t>(64, 0));
  const auto failure = gpu.launch("k", {{1, 1, 1}, {threads, 1, 1}}, out);
  return failure ? failure->reason : "";
}

using Values = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("arrivals count down, return the state before them and complete the phase") {
  CHECK(outputs(R"(
    init(b, 3);
    const u64 first = arrive(b), second = arrive(b);
    out[0] = pending(first); out[1] = pending(second);
    out[2] = test(b, first);
    const u64 third = arrive(b);
    out[3] = pending(third); out[4] = test(b, first); out[5] = test(b, third);
    out[6] = pending(arrive(b, 3)); out[7] = pending(arrive(b));)",
                1, 8) == Values{3, 2, 0, 1, 1, 1, 3, 3});
}

TEST_CASE("a parity names the current phase or the one before it") {
  CHECK(outputs(R"(
    init(b, 1);
    out[0] = parity(b, 0); out[1] = parity(b, 1);
    sink(b);
    out[2] = parity(b, 0); out[3] = parity(b, 1);
    sink(b);
    out[4] = parity(b, 0); out[5] = try_for(b, 1, 0);)",
                1, 6) == Values{0, 1, 1, 0, 0, 1});
}

TEST_CASE("a phase ends when all arrivals and bytes have come, in any order") {
  CHECK(outputs(R"(
    init(b, 1);
    arrive_expect(b, 96);
    out[0] = parity(b, 0);
    complete(b, 64); out[1] = parity(b, 0);
    complete(b, 32); out[2] = parity(b, 0);
    complete(b, 16);  // before they are expected
    out[3] = parity(b, 1);
    expect(b, 16); out[4] = parity(b, 1);
    sink(b); out[5] = parity(b, 1);)",
                1, 6) == Values{0, 0, 1, 0, 0, 1});
}

TEST_CASE("a phase after arrive_drop expects one arrival less") {
  CHECK(outputs(R"(
    init(b, 3);
    out[0] = pending(drop(b)); sink(b); sink(b);
    out[1] = parity(b, 0);
    out[2] = pending(arrive(b)); sink(b);
    out[3] = parity(b, 1);)",
                1, 4) == Values{3, 1, 2, 1});
}

TEST_CASE("a waiting warp lets the warps that it waits for run") {
  // A ring of two stages: warp 0 fills, the others read and release.
  const auto out = outputs(R"(
    __shared__ u32 data[2];
    if (t == 0) for (int s = 0; s < 2; ++s) { init(b + 8 * s, 1); init(b + 16 + 8 * s, 96); }
    __syncthreads();
    u32 sum = 0;
    for (u32 i = 0; i < 20; ++i) {
      const u32 s = i % 2, parity = i / 2 % 2;
      if (t == 0) {
        wait(b + 16 + 8 * s, parity ^ 1);
        data[s] = i * i;
        sink(b + 8 * s);
      } else if (t >= 32) {
        wait(b + 8 * s, parity);
        sum += data[s];
        sink(b + 16 + 8 * s);
      }
    }
    out[t] = sum;)",
                           128, 128);
  for (std::size_t t = 32; t < 128; ++t) CHECK(out[t] == 2470);
}

TEST_CASE("lanes of one warp may wait for each other through an mbarrier") {
  const auto out = outputs(R"(
    if (t == 0) { init(b, 1); init(b + 8, 31); }
    __syncwarp();
    if (t == 0) { wait(b + 8, 0); out[0] = 7; sink(b); }
    else { sink(b + 8); wait(b, 0); out[t] = t; })",
                           32, 32);
  for (std::uint32_t t = 1; t < 32; ++t) CHECK(out[t] == t);
  CHECK(out[0] == 7);
}

TEST_CASE("try_wait gives up after a while") {
  CHECK(outputs(R"(
    init(b, 1);
    u32 tries = 0;
    while (!try_for(b, 0, 20) && tries < 50) ++tries;
    out[0] = tries;)",
                1, 1) == Values{50});
}

TEST_CASE("an mbarrier whose phase never ends is reported as a deadlock with the missing arrivals and bytes") {
  const std::string found = finding("if (t == 0) init(b, 33);\n__syncwarp();\nsink(b);\nwait(b, 0);");
  CHECK(contains(found, "deadlock"));
  CHECK(contains(found, "try_wait"));
  CHECK(contains(found, "lacks 1 of 33 arrivals and 0 bytes"));
  CHECK(contains(finding("if (t == 0) { init(b, 1); arrive_expect(b, 128); }\n__syncwarp();\nwait(b, 0);"),
                 "lacks 0 of 1 arrivals and 128 bytes"));
}

TEST_CASE("misused mbarriers are findings") {
  CHECK(contains(finding("sink(b);"), "no mbarrier has been initialised"));
  CHECK(contains(finding("if (t == 0) { init(b, 1); sink(b + 4); }"), "not aligned to 8 bytes"));
  CHECK(contains(finding("if (t == 0) { init(b, 1); storage[0] = 5; sink(b); }"), "has been overwritten"));
  CHECK(contains(finding("if (t == 0) init(b, out[0]);"), "a count of 0"));
  CHECK(contains(finding("if (t == 0) init(b, 1 << 20);"), "a count of 1048576"));
  CHECK(contains(finding("if (t == 0) { init(b, 1); init(b, 1); }"), "holds an mbarrier already"));
  CHECK(contains(finding("if (t == 0) { init(b, 2); arrive(b, 3); }"), "awaits only 2 of its 2"));
  CHECK(contains(finding("if (t == 0) { init(b, 2); expect(b, 1048575); expect(b, 1); }"),
                 "transaction count would be 1048576"));
  CHECK(contains(finding("if (t == 0) { init(b, 1); try_for(b, 2, 0); }"), "a parity of 2"));
  CHECK(contains(finding(R"(if (t == 0) { init(b, 1); u64 s;
    asm volatile("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], 1;" : "=l"(s) : "r"(b) : "memory"); })"),
                 "noComplete"));
  CHECK(
      finding(
          R"(if (t == 0) { init(b, 1); asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(b)); init(b, 2); })") ==
      "");
}

TEST_CASE("cp.async arrives at an mbarrier when its copies have landed") {
  const std::string source = kBarriers + R"(
    extern "C" __global__ void k(u32* out, const u32* in) {
      __shared__ u64 storage[2];
      __shared__ u32 data[64];
      const u32 b = at(storage), t = threadIdx.x;
      if (t == 0) { init(b, 32); init(b + 8, 32); }
      data[t] = data[t + 32] = 1;
      __syncwarp();
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at(data + t)), "l"(in + t) : "memory");
      asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(b) : "memory");
      out[t] = data[t];
      wait(b, 0);
      out[32 + t] = data[31 - t];
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at(data + 32 + t)), "l"(in + t) : "memory");
      asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(b + 8) : "memory");
      sink(b + 8);
      wait(b + 8, 0);
      out[64 + t] = data[63 - t];
    })";
  TestGpu gpu;
  gpu.load_cuda(source);
  Values in(32);
  for (std::uint32_t i = 0; i < 32; ++i) in[i] = 100 + i;
  const auto in_at = gpu.upload("in", in);
  const auto out_at = gpu.upload("out", Values(96, 0));
  const auto failure = gpu.launch("k", {}, out_at, in_at);
  if (failure) FAIL(failure->reason);
  const auto out = gpu.download<std::uint32_t>(out_at, 96);
  for (std::uint32_t t = 0; t < 32; ++t) {
    CHECK(out[t] == 1);  // Not waited for: as late as the ISA allows.
    CHECK(out[32 + t] == 131 - t);
    CHECK(out[64 + t] == 131 - t);
  }
}
