#include <bit>
#include <cmath>
#include <numeric>

#include "evaluator/vgpu/machine/tensor_copy.h"
#include "tests/vgpu/gpu_for_tests.h"

// What sm_100 and newer add beside products and conversions. From the PTX ISA, not checked on hardware.
namespace evo::vgpu {
namespace {

using Words = std::vector<std::uint32_t>;

std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
std::uint64_t pair(float low, float high) {
  return std::uint64_t{bits(high)} << 32 | bits(low);
}

std::uint64_t one_result(const std::string& instructions, int width, Inputs inputs) {
  return run_snippet(instructions, width, {inputs}, best_simd(), "sm_120a").at(0);
}

TEST_CASE("arithmetic of f32 pairs is that of each half") {
  const Inputs inputs{pair(1.5f, -3.0f), pair(0.25f, 1e30f), pair(2.0f, 0.5f)};
  CHECK(one_result("add.f32x2 d64, a64, b64;", 64, inputs) == pair(1.75f, 1e30f));
  CHECK(one_result("sub.rn.f32x2 d64, a64, b64;", 64, inputs) == pair(1.25f, -1e30f));
  CHECK(one_result("mul.f32x2 d64, a64, b64;", 64, inputs) == pair(0.375f, -3.0f * 1e30f));
  CHECK(one_result("fma.rn.f32x2 d64, a64, b64, c64;", 64, inputs) == pair(2.375f, std::fma(-3.0f, 1e30f, 0.5f)));
  const Inputs rounds{pair(1.0f, -1.0f), pair(0x1p-30f, 0x1p-30f)};
  const float above = std::nextafter(1.0f, 2.0f), below = std::nextafter(1.0f, 0.0f);
  CHECK(one_result("add.rp.f32x2 d64, a64, b64;", 64, rounds) == pair(above, -below));
  CHECK(one_result("add.rz.f32x2 d64, a64, b64;", 64, rounds) == pair(1.0f, -below));
  const Inputs tiny{pair(0x1p-130f, 1.0f), pair(0x1p-131f, 1.0f)};
  CHECK(one_result("add.ftz.f32x2 d64, a64, b64;", 64, tiny) == pair(0.0f, 2.0f));
}

TEST_CASE("f32 sums take sources of 16 bits") {
  const Inputs inputs{f16_from_f32(0.5f), f16_from_f32(3.0f), bits(0x1p-20f)};
  CHECK(one_result("add.f32.f16 d32, a16, c32;", 32, inputs) == bits(0.5f + 0x1p-20f));
  CHECK(one_result("sub.f32.f16 d32, a16, c32;", 32, inputs) == bits(0.5f - 0x1p-20f));
  CHECK(one_result("fma.rn.f32.f16 d32, a16, b16, c32;", 32, inputs) == bits(1.5f + 0x1p-20f));
  CHECK(one_result("fma.rn.sat.f32.f16 d32, a16, b16, c32;", 32, inputs) == bits(1.0f));
  const Inputs brain{bf16_from_f32(-2.0f), bf16_from_f32(3.0f), bits(0.125f)};
  CHECK(one_result("add.f32.bf16 d32, a16, c32;", 32, brain) == bits(-1.875f));
  CHECK(one_result("fma.rz.f32.bf16 d32, a16, b16, c32;", 32, brain) == bits(-5.875f));
}

TEST_CASE("minima and maxima of three") {
  const Inputs inputs{bits(2.0f), bits(-1.0f), bits(7.0f)};
  CHECK(one_result("min.f32 d32, a32, b32, c32;", 32, inputs) == bits(-1.0f));
  CHECK(one_result("max.f32 d32, a32, b32, c32;", 32, inputs) == bits(7.0f));
  const Inputs nan{0x7fc00000, bits(-1.0f), bits(7.0f)};
  CHECK(one_result("min.f32 d32, a32, b32, c32;", 32, nan) == bits(-1.0f));
  CHECK(one_result("min.NaN.f32 d32, a32, b32, c32;", 32, nan) == 0x7fffffffu);
}

constexpr const char* kHead = R"(.version 9.0
.target sm_120a
.address_size 64
)";

TEST_CASE("loads and stores of 32 bytes move eight words or four pairs of them") {
  TestGpu gpu;
  gpu.load_ptx(std::string(kHead) + R"(.visible .entry k(.param .b64 out, .param .b64 in) {
  .reg .b32 t, r<8>; .reg .b64 p, q, o, d<4>;
  mov.u32 t, %tid.x; mul.wide.u32 o, t, 64;
  ld.param.b64 p, [out]; add.u64 p, p, o;
  ld.param.b64 q, [in]; add.u64 q, q, o;
  ld.global.v8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [q];
  st.global.v8.b32 [p], {r7, r6, r5, r4, r3, r2, r1, r0};
  ld.global.v4.b64 {q, d1, d2, d3}, [q+32];
  st.global.v4.b64 [p+32], {d3, d2, d1, q};
  ret; })");
  Words in(32 * 16);
  std::iota(in.begin(), in.end(), 0u);
  const auto from = gpu.upload("in", in);
  const auto to = gpu.allocate("out", in.size() * 4);
  const auto failure = gpu.launch("k", {}, to, from);
  REQUIRE_FALSE(failure);
  const auto out = gpu.download<std::uint32_t>(to, in.size());
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    const std::uint32_t thread = i / 16 * 16, word = i % 16;
    CHECK(out[i] == thread + (word < 8 ? 7 - word : 8 + (15 - word) / 2 * 2 + word % 2));
  }
  const auto misaligned = gpu.launch("k", {}, to, from + 16);
  REQUIRE(misaligned);
  CHECK(contains(misaligned->reason, "misaligned"));
}

TEST_CASE("redux.sync finds the least and the largest f32") {
  TestGpu gpu;
  const auto kernel = [](const std::string& name, const std::string& op) {
    return ".visible .entry " + name + R"((.param .b64 out, .param .b64 in) {
  .reg .b32 t; .reg .f32 x; .reg .b64 p, q, o;
  mov.u32 t, %tid.x; mul.wide.u32 o, t, 4;
  ld.param.b64 p, [out]; add.u64 p, p, o; ld.param.b64 q, [in]; add.u64 q, q, o;
  ld.global.f32 x, [q]; redux.sync.)" +
           op + R"(.f32 x, x, 0xffffffff; st.global.f32 [p], x; ret; }
)";
  };
  gpu.load_ptx(".version 9.0\n.target sm_100a\n.address_size 64\n" + kernel("least", "min") +
               kernel("largest", "max.abs") + kernel("nan", "max.NaN"));
  std::vector<float> in(32);
  for (int i = 0; i < 32; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 32) - 20;
  in[5] = std::nanf("");
  const auto from = gpu.upload("in", in);
  const auto to = gpu.allocate("out", 128);
  const auto result = [&](const char* name) {
    REQUIRE_FALSE(gpu.launch(name, {}, to, from));
    return gpu.download<std::uint32_t>(to, 32).at(9);
  };
  CHECK(result("least") == bits(-20.0f));
  CHECK(result("largest") == bits(20.0f));
  CHECK(result("nan") == 0x7fffffffu);
}

/// Runs ldmatrix with a row of 16 bytes for each lane, whose bytes are 16 times the lane plus their number.
std::vector<std::uint32_t> load_matrices(const std::string& instruction, int registers,
                                         const std::vector<std::uint8_t>& rows) {
  TestGpu gpu;
  std::string list = "{r0", stores;
  for (int i = 1; i < registers; ++i) list += ", r" + std::to_string(i);
  for (int i = 0; i < registers; ++i)
    stores += "st.global.b32 [p+" + std::to_string(128 * i) + "], r" + std::to_string(i) + ";\n";
  gpu.load_ptx(std::string(kHead) + R"(.visible .entry k(.param .b64 out, .param .b64 in) {
  .reg .b32 t, s, r<4>; .reg .b64 p, q, o, w<2>; .shared .align 16 .b8 tile[512];
  mov.u32 t, %tid.x; mul.wide.u32 o, t, 16;
  ld.param.b64 q, [in]; add.u64 q, q, o; ld.global.v2.b64 {w0, w1}, [q];
  mov.u32 s, tile; mad.lo.u32 s, t, 16, s; st.shared.v2.b64 [s], {w0, w1};
  bar.sync 0;
  )" + instruction +
               " " + list + R"(}, [s];
  ld.param.b64 p, [out]; mul.wide.u32 o, t, 4; add.u64 p, p, o;
)" + stores + "ret; }");
  const auto from = gpu.upload("in", rows);
  const auto to = gpu.allocate("out", 512);
  const auto failure = gpu.launch("k", {}, to, from);
  if (failure) FAIL(failure->reason);
  return gpu.download<std::uint32_t>(to, static_cast<std::size_t>(32 * registers));
}

std::vector<std::uint8_t> numbered_rows() {
  std::vector<std::uint8_t> rows(512);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * 37 + i / 16);
  return rows;
}
std::uint32_t byte_of(std::uint32_t word, std::size_t i) {
  return word >> 8 * i & 0xffu;
}

TEST_CASE("ldmatrix of bytes gives the fragments of a product of bytes, the matrix transposed") {
  const auto rows = numbered_rows();
  const auto got = load_matrices("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", 4, rows);
  for (std::size_t matrix = 0; matrix < 2; ++matrix)
    for (std::size_t half = 0; half < 2; ++half)
      for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t i = 0; i < 4; ++i) {
          const std::size_t row = lane % 4 * 4 + i, column = lane / 4 + 8 * half;
          CHECK(byte_of(got[(2 * matrix + half) * 32 + lane], i) == rows[(16 * matrix + row) * 16 + column]);
        }
}

TEST_CASE("ldmatrix unpacks elements of four and six bits into bytes") {
  const auto rows = numbered_rows();
  for (const std::size_t width : {4, 6}) {
    const std::string from = width == 4 ? ".b4x16_p64" : ".b6x16_p32";
    const auto got = load_matrices("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16" + from, 4, rows);
    for (std::size_t matrix = 0; matrix < 4; ++matrix)
      for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t i = 0; i < 4; ++i) {
          unsigned want = 0;  // Bit by bit.
          for (std::size_t bit = 0; bit < width; ++bit) {
            const std::size_t at = (lane % 4 * 4 + i) * width + bit;
            want |= (rows[(8 * matrix + lane / 4) * 16 + at / 8] >> at % 8 & 1u) << bit;
          }
          INFO(from << " " << matrix << " " << lane << " " << i);
          CHECK(byte_of(got[matrix * 32 + lane], i) == want);
        }
  }
}

TEST_CASE("stmatrix of bytes stores the columns of a product's results as rows") {
  TestGpu gpu;
  gpu.load_ptx(std::string(kHead) + R"(.visible .entry k(.param .b64 out, .param .b64 in) {
  .reg .b32 t, s, r<2>; .reg .b64 p, q, o, w<2>; .shared .align 16 .b8 tile[512];
  mov.u32 t, %tid.x; mul.wide.u32 o, t, 8;
  ld.param.b64 q, [in]; add.u64 q, q, o; ld.global.v2.b32 {r0, r1}, [q];
  mov.u32 s, tile; mad.lo.u32 s, t, 16, s;
  stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [s], {r0, r1};
  bar.sync 0;
  ld.shared.v2.b64 {w0, w1}, [s];
  ld.param.b64 p, [out]; mul.wide.u32 o, t, 16; add.u64 p, p, o; st.global.v2.b64 [p], {w0, w1};
  ret; })");
  Words in(64);
  for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = i * 0x9e3779b9u;
  const auto from = gpu.upload("in", in);
  const auto to = gpu.allocate("out", 512);
  REQUIRE_FALSE(gpu.launch("k", {}, to, from));
  const auto out = gpu.download<std::uint8_t>(to, 256);
  for (std::size_t matrix = 0; matrix < 2; ++matrix)
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        CHECK(out[(8 * matrix + column) * 16 + row] == byte_of(in[2 * lane + matrix], i));
      }
}

TEST_CASE("a copy of four rows takes them in the order that it names, and what lies outside of the matrix is zero") {
  GlobalMemory memory;
  constexpr std::uint32_t kRows = 10, kColumns = 12, kFirst = 8;
  const std::uint64_t address = memory.allocate(kRows * kColumns * 4, "matrix");
  for (std::uint32_t i = 0; i < kRows * kColumns; ++i) {
    const std::uint32_t value = 100 + i;
    std::memcpy(memory.at(address + 4 * i, 4), &value, 4);
  }
  TensorMapObject map;
  map.address = address;
  map.rank = 2;
  map.element = TensorElement::u32;
  map.last = {kColumns - 1, kRows - 1};
  map.stride_bytes = {kColumns * 4};
  map.box = {8, 1};
  map.element_stride = {1, 1};
  const std::array<std::int32_t, 4> rows{7, 0, 10, 3};  // Row 10 is behind the last.
  TensorBox box = TensorBox::of_rows(map, {kFirst, rows[0], rows[1], rows[2], rows[3]});
  CHECK(box.locate(memory, false).empty());
  CHECK(box.map().box_bytes() == 4 * 8 * 4);
  CHECK(box.inside_bytes() == 3 * (kColumns - kFirst) * 4);
  std::array<std::uint32_t, 32> shared{};
  shared.fill(7);
  box.load(reinterpret_cast<std::byte*>(shared.data()), 0);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const auto row = static_cast<std::uint32_t>(rows[i / 8]), column = kFirst + i % 8;
    CHECK(shared[i] == (row < kRows && column < kColumns ? 100 + row * kColumns + column : 0));
  }
}

}  // namespace
}  // namespace evo::vgpu
