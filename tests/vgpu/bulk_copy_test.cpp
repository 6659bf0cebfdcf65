#include "evaluator/vgpu/numbers/tensor_map.h"
#include "tests/vgpu/gpu_for_tests.h"

// PTX ISA 9.0, 9.7.9.25.4 and 9.7.9.27: bulk copies and tensor copies in tile mode.
using evo::TensorElement;
using namespace evo::vgpu;

namespace {

const std::string kHelpers = R"(
  typedef unsigned u32; typedef unsigned long long u64;
  struct __align__(64) Map { u64 words[16]; };
  __device__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
  __device__ void init(u32 b) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory"); }
  __device__ void expect(u32 b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
  __device__ void wait(u32 b, u32 p) {
    asm volatile("{ .reg .pred p;\nL: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra L; }" :: "r"(b), "r"(p) : "memory");
  }
  __device__ void commit_and_wait() { asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory"); }
  __device__ void load(u32 to, const void* from, u32 n, u32 b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(to), "l"(from), "r"(n), "r"(b) : "memory");
  }
  __device__ void store(void* to, u32 from, u32 n) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(from), "r"(n) : "memory");
  }
  __device__ void load2(u32 to, const Map& m, u32 b, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
      :: "r"(to), "l"(&m), "r"(b), "r"(x), "r"(y) : "memory");
  }
  __device__ void store2(const Map& m, u32 from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
      :: "l"(&m), "r"(from), "r"(x), "r"(y) : "memory");
  }
)";

using Words = std::vector<std::uint32_t>;

Words counting(std::size_t count) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(i);
  return words;
}

/// A kernel k(out, in) of one warp over 256 words each.
struct BulkRun {
  Words out, in;
  std::string reason;
};
BulkRun run(const std::string& body) {
  TestGpu gpu;
  gpu.load_cuda(kHelpers + R"(extern "C" __global__ void k(u32* out, u32* in) {
    __shared__ __align__(1024) u32 data[512];
    __shared__ u64 barrier;
    const u32 b = at(&barrier), t = threadIdx.x;
    if (t == 0) init(b);
    for (int i = t; i < 512; i += 32) data[i] = 7000 + i;
    __syncwarp();
)" + body + "}");
  const auto out = gpu.upload("out", Words(256, 5));
  const auto in = gpu.upload("in", counting(256));
  const auto failure = gpu.launch("k", {}, out, in);
  return {gpu.download<std::uint32_t>(out, 256), gpu.download<std::uint32_t>(in, 256), failure ? failure->reason : ""};
}

TensorMapObject map_2d(std::uint64_t address, TensorElement element, std::uint32_t columns, std::uint32_t rows,
                       std::uint64_t stride, std::uint16_t box_columns, std::uint16_t box_rows) {
  TensorMapObject map;
  map.address = address;
  map.rank = 2;
  map.element = element;
  map.last = {columns - 1, rows - 1};
  map.stride_bytes = {stride};
  map.box = {box_columns, box_rows};
  map.element_stride = {1, 1};
  return map;
}

/// Loads a box of a tensor of 20 rows of 40 words (44 apart), whose words count up from 0, then writes the 512 words
/// of shared memory out as they lie.
Words load_box(const TensorMapObject& wanted, int x, int y, std::string* reason = nullptr) {
  TestGpu gpu;
  gpu.load_cuda(kHelpers +
                R"(extern "C" __global__ void k(u32* out, const __grid_constant__ Map m, int x, int y, u32 bytes) {
    __shared__ __align__(1024) u32 data[512];
    __shared__ u64 barrier;
    const u32 b = at(&barrier);
    if (threadIdx.x == 0) init(b);
    for (int i = threadIdx.x; i < 512; i += 32) data[i] = 0xeeeeeeee;
    __syncwarp();
    if (threadIdx.x == 0) { expect(b, bytes); load2(at(data), m, b, x, y); }
    wait(b, 0);
    for (int i = threadIdx.x; i < 512; i += 32) out[i] = data[i];
  })");
  TensorMapObject map = wanted;
  map.address = gpu.upload("tensor", counting(20 * 44));
  const auto out = gpu.upload("out", Words(512, 0));
  const auto failure = gpu.launch("k", {}, out, map, x, y, map.box_bytes());
  if (reason != nullptr) {
    *reason = failure ? failure->reason : "";
  } else if (failure) {
    FAIL(failure->reason);
  }
  return gpu.download<std::uint32_t>(out, 512);
}

std::uint32_t element(int row, int column) {
  return static_cast<std::uint32_t>(row * 44 + column);
}

}  // namespace

TEST_CASE("a bulk copy into shared memory is complete when its mbarrier's phase ends, not before") {
  const BulkRun result = run(R"(
    if (t == 0) { expect(b, 512); load(at(data), in + 4, 256, b); load(at(data + 64), in + 128, 256, b); }
    __syncwarp();
    out[t] = data[t];
    wait(b, 0);
    for (int i = t; i < 160; i += 32) out[32 + i] = data[i];)");
  REQUIRE(result.reason == "");
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(result.out[i] == 7000 + i);
  for (std::uint32_t i = 0; i < 64; ++i) {
    CHECK(result.out[32 + i] == 4 + i);
    CHECK(result.out[96 + i] == 128 + i);
  }
  for (std::uint32_t i = 128; i < 160; ++i) CHECK(result.out[32 + i] == 7000 + i);
}

TEST_CASE("a bulk store may read its source until a wait for it ends") {
  const BulkRun result = run(R"(
    if (t == 0) { store(out, at(data), 128); asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
    __syncwarp();
    data[t] = t;  // too early
    __syncwarp();
    if (t == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncwarp();
    data[t] = 1;
    if (t == 1) { store(out + 64, at(data + 64), 64); asm volatile("cp.async.bulk.commit_group;" ::: "memory"); })");
  REQUIRE(result.reason == "");
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(result.out[i] == i);
  CHECK(result.out[32] == 5);
  for (std::uint32_t i = 0; i < 16; ++i)
    CHECK(result.out[64 + i] == 7064 + i);  // The store completes when its thread ends.
}

TEST_CASE("bulk reductions combine with the values in memory") {
  const BulkRun result = run(R"(
    if (t == 0) {
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 64;" :: "l"(in), "r"(at(data)) : "memory");
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 64;" :: "l"(in + 32), "r"(at(data)) : "memory");
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 [%0], [%1], 64;" :: "l"(in + 64), "r"(at(data)) : "memory");
      commit_and_wait();
    }
    ((float*)data)[t] = 0.5f * t;
    ((float*)out)[t] = 2.0f;
    __syncwarp();
    if (t == 0) {
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;" :: "l"(out), "r"(at(data)) : "memory");
      commit_and_wait();
    })");
  REQUIRE(result.reason == "");
  for (std::uint32_t i = 0; i < 16; ++i) {
    CHECK(result.in[i] == 7000 + 2 * i);
    CHECK(result.in[32 + i] == 7000 + i);
    CHECK(result.in[64 + i] == ((64 + i) & (7000 + i)));
  }
  for (std::uint32_t i = 0; i < 32; ++i) {
    float value = 0;
    std::memcpy(&value, &result.out[i], 4);
    CHECK(value == 2.0f + 0.5f * static_cast<float>(i));
  }
}

TEST_CASE("invalid bulk copies are findings") {
  CHECK(contains(run("if (t == 0) load(at(data), in, 20, b);").reason, "no multiple of 16"));
  CHECK(contains(run("if (t == 0) load(at(data), in + 1, 16, b);").reason, "not aligned to 16 bytes"));
  CHECK(contains(run("if (t == 0) load(at(data), in + 128, 1024, b);").reason, "'in'"));
  CHECK(contains(run("if (t == 0) load(at(data) + 2048, in, 32, b);").reason, "shared memory"));
  CHECK(contains(run("if (t == 0) load(at(data), in, 32, b + 8);").reason, "mbarrier"));
  CHECK(contains(run("if (t == 0) { load(at(data), in, 32, b); expect(b, 64); } wait(b, 0);").reason, "32 bytes"));
}

TEST_CASE("a tensor load copies the box row by row") {
  const Words box = load_box(map_2d(0, TensorElement::u32, 40, 20, 176, 8, 6), 4, 3);
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 8; ++c) CHECK(box[static_cast<std::size_t>(r * 8 + c)] == element(3 + r, 4 + c));
  CHECK(box[48] == 0xeeeeeeee);
}

TEST_CASE("elements outside the tensor are zero, or NaN for floats if the map asks for it") {
  for (const bool nan : {false, true}) {
    TensorMapObject map = map_2d(0, nan ? TensorElement::f32 : TensorElement::u32, 40, 20, 176, 8, 6);
    map.fills_with_nan = nan ? 1 : 0;
    const std::uint32_t fill = nan ? 0x7ff77ff7u : 0u;
    for (const auto& [x, y] : {std::pair{-4, -2}, std::pair{36, 17}, std::pair{-100, 5}, std::pair{4, 20}}) {
      const Words box = load_box(map, x, y);
      for (int r = 0; r < 6; ++r) {
        for (int c = 0; c < 8; ++c) {
          const bool inside = x + c >= 0 && x + c < 40 && y + r >= 0 && y + r < 20;
          CHECK(box[static_cast<std::size_t>(r * 8 + c)] == (inside ? element(y + r, x + c) : fill));
        }
      }
    }
  }
}

TEST_CASE("swizzles exchange 16-byte chunks by the address bits above the row of 128 bytes") {
  for (const auto& [swizzle, columns] :
       {std::pair{Swizzle::b32, 8u}, std::pair{Swizzle::b64, 16u}, std::pair{Swizzle::b128, 32u}}) {
    TensorMapObject map = map_2d(0, TensorElement::u32, 40, 20, 176, static_cast<std::uint16_t>(columns), 10);
    map.swizzle = swizzle;
    const Words box = load_box(map, 4, 1);
    const std::uint32_t bits = columns / 8 * 2 - 1;  // 1, 3, 7
    for (std::uint32_t r = 0; r < 10; ++r) {
      for (std::uint32_t c = 0; c < columns; ++c) {
        const std::uint32_t byte = (r * columns + c) * 4;
        const std::uint32_t chunk = byte / 16 % 8 ^ (byte / 128 & bits);
        const std::uint32_t lies = byte / 128 * 128 + chunk * 16 + byte % 16;
        CHECK(box[lies / 4] == element(1 + static_cast<int>(r), 4 + static_cast<int>(c)));
      }
    }
  }
}

TEST_CASE("traversal strides skip rows") {
  TensorMapObject map = map_2d(0, TensorElement::u32, 40, 20, 176, 8, 7);
  map.element_stride[1] = 3;
  const Words box = load_box(map, 0, 2);
  for (int r = 0; r < 3; ++r) CHECK(box[static_cast<std::size_t>(r * 8)] == element(2 + 3 * r, 0));
  CHECK(box[24] == 0xeeeeeeee);
}

TEST_CASE("tensor maps that the driver would refuse, and tensors outside memory, are findings") {
  std::string reason;
  TensorMapObject map = map_2d(0, TensorElement::u32, 40, 20, 176, 8, 6);
  map.last[1] = 30;
  load_box(map, 0, 10, &reason);
  CHECK(reason == "");
  load_box(map, 0, 15, &reason);
  CHECK(contains(reason, "the box reaches from"));
  CHECK(contains(reason, "'tensor'"));
  load_box(map, 5, 0, &reason);
  CHECK(contains(reason, "begins at element 5"));
  map = map_2d(0, TensorElement::u32, 40, 20, 176, 6, 6);
  load_box(map, 0, 0, &reason);
  CHECK(contains(reason, "rows have 24 bytes"));
  map = map_2d(0, TensorElement::u32, 40, 20, 100, 8, 6);
  load_box(map, 0, 0, &reason);
  CHECK(contains(reason, "a stride of 100 bytes"));
  map = map_2d(0, TensorElement::u32, 40, 20, 176, 32, 6);
  map.swizzle = Swizzle::b64;
  load_box(map, 0, 0, &reason);
  CHECK(contains(reason, "more than its swizzle"));
  map.magic = 0;
  load_box(map, 0, 0, &reason);
  CHECK(contains(reason, "no tensor map"));
}

TEST_CASE("tensor stores write and tensor reductions add only inside the tensor") {
  TestGpu gpu;
  gpu.load_cuda(kHelpers + R"(extern "C" __global__ void k(const __grid_constant__ Map m, int x, int y, int adds) {
    __shared__ __align__(1024) u32 data[256];
    for (int i = threadIdx.x; i < 256; i += 32) data[i ^ ((i / 32 & 7) << 2)] = 1000 + i;
    __syncwarp();
    if (threadIdx.x == 0) {
      if (adds) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
                             :: "l"(&m), "r"(at(data)), "r"(x), "r"(y) : "memory");
      else store2(m, at(data), x, y);
      commit_and_wait();
    }
  })");
  const auto tensor = gpu.upload("tensor", counting(20 * 44));
  TensorMapObject map = map_2d(tensor, TensorElement::u32, 40, 20, 176, 32, 8);
  map.swizzle = Swizzle::b128;
  REQUIRE(!gpu.launch("k", {}, map, 8, 15, 0));
  REQUIRE(!gpu.launch("k", {}, map, 28, 3, 1));
  const Words after = gpu.download<std::uint32_t>(tensor, 20 * 44);
  for (int r = 0; r < 20; ++r) {
    for (int c = 0; c < 44; ++c) {
      std::uint32_t expected = element(r, c);
      if (c >= 8 && c < 40 && r >= 15) expected = static_cast<std::uint32_t>(1000 + (r - 15) * 32 + c - 8);
      if (c >= 28 && c < 40 && r >= 3 && r < 11) expected += static_cast<std::uint32_t>(1000 + (r - 3) * 32 + c - 28);
      CHECK(after[element(r, c)] == expected);
    }
  }
}

TEST_CASE("tensors have one to five dimensions") {
  TestGpu gpu;
  gpu.load_cuda(
      kHelpers +
      R"(extern "C" __global__ void k(u32* out, const __grid_constant__ Map one, const __grid_constant__ Map five) {
    __shared__ __align__(128) u32 data[96];
    __shared__ u64 barrier;
    const u32 b = at(&barrier);
    if (threadIdx.x == 0) {
      init(b);
      expect(b, 16 + 192);
      asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
        :: "r"(at(data)), "l"(&one), "r"(b), "r"(8) : "memory");
      asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
        :: "r"(at(data) + 128), "l"(&five), "r"(b), "r"(4), "r"(1), "r"(0), "r"(2), "r"(1) : "memory");
    }
    __syncwarp();
    wait(b, 0);
    for (int i = threadIdx.x; i < 96; i += 32) out[i] = data[i];
  })");
  const auto tensor = gpu.upload("tensor", counting(8 * 3 * 3 * 4 * 2));
  const auto out = gpu.upload("out", Words(96, 0));
  TensorMapObject one;
  one.address = tensor;
  one.rank = 1;
  one.element = TensorElement::u32;
  one.last = {10};
  one.box = {4};
  one.element_stride = {1};
  TensorMapObject five;
  five.address = tensor;
  five.rank = 5;
  five.element = TensorElement::u32;
  five.last = {7, 2, 2, 3, 1};
  five.stride_bytes = {32, 96, 288, 1152};
  five.box = {4, 2, 3, 2, 1};
  five.element_stride = {1, 1, 1, 1, 1};
  const auto failure = gpu.launch("k", {}, out, one, five);
  if (failure) FAIL(failure->reason);
  const Words got = gpu.download<std::uint32_t>(out, 96);
  CHECK(Words(got.begin(), got.begin() + 4) == Words{8, 9, 10, 0});
  std::size_t i = 32;
  for (std::uint32_t d3 = 2; d3 < 4; ++d3)
    for (std::uint32_t d2 = 0; d2 < 3; ++d2)
      for (std::uint32_t d1 = 1; d1 < 3; ++d1)
        for (std::uint32_t d0 = 4; d0 < 8; ++d0, ++i) CHECK(got[i] == d0 + 8 * d1 + 24 * d2 + 72 * d3 + 288);
}

TEST_CASE("tensor maps can be changed in memory") {
  TestGpu gpu;
  gpu.load_cuda(kHelpers + R"(extern "C" __global__ void k(u32* out, Map* map, u32* other) {
    __shared__ __align__(128) u32 data[16];
    __shared__ u64 barrier;
    const u32 b = at(&barrier);
    if (threadIdx.x == 0) {
      asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" :: "l"(map), "l"(other) : "memory");
      asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 0, %1;" :: "l"(map), "r"(2) : "memory");
      init(b);
      expect(b, 64);
      load2(at(data), *map, b, 0, 1);
      wait(b, 0);
      for (int i = 0; i < 16; ++i) out[i] = data[i];
    }
  })");
  const auto map = gpu.upload("map", std::vector<TensorMapObject>{map_2d(0, TensorElement::u32, 4, 4, 16, 4, 4)});
  const auto other = gpu.upload("other", counting(16));
  const auto out = gpu.upload("out", Words(16, 9));
  const auto failure = gpu.launch("k", {}, out, map, other);
  if (failure) FAIL(failure->reason);
  CHECK(gpu.download<std::uint32_t>(out, 16) == Words{4, 5, 0, 0, 8, 9, 0, 0, 12, 13, 0, 0, 0, 0, 0, 0});
}
