#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "evaluator/numbers/float_formats.h"
#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/tcgen05/products.h"
#include "tests/vgpu/tcgen05/source.h"

// Products of tcgen05.mma against plain ones of numbers whose sums are exact. NVRTC compiles every form to machine
// code, so ptxas has accepted it. From the document, not checked on hardware.
namespace evo::vgpu {
namespace {

using F = TensorFormat;
using K = TensorKind;
using L = OperandLayout;

constexpr std::uint32_t kThreads = 128;
constexpr std::uint32_t kExtra = 64;                 ///< Columns of operands in tensor memory, from 256 on.
constexpr std::uint32_t kScaleA = 32, kScaleB = 40;  ///< Among them.

struct Case {
  TensorShape shape;
  L layout_a = L::by_128;
  L layout_b = L::by_128;
  bool a_in_tensor_memory = false;
  int steps = 2;
  bool accumulates = true;           ///< From the first product on.
  std::uint32_t lane = 0;            ///< Of D.
  std::vector<std::uint32_t> masks;  ///< disable-output-lane.
  int shift = 0;                     ///< scale-input-d.
  int scales = 0;                    ///< Of each row in a product.
  std::string size;                  ///< ".scale_vec::2X"
};

Case of(K kind, int m, int n, F a, F b, F d = F::f32) {
  Case one;
  one.shape = {.kind = kind, .m = m, .n = n, .a = a, .b = b, .d = d};
  return one;
}

/// Operands into shared and tensor memory, products, D into `out`.
constexpr std::string_view kProductKernel = R"(
extern "C" __global__ void k(unsigned* out, const unsigned* images, int words, const unsigned long long* a,
                             const unsigned long long* b, int steps, unsigned idesc, int accumulates,
                             const unsigned* first, const unsigned* extra, int n, unsigned lane) {
  extern __shared__ unsigned storage[];
  unsigned* const smem = storage + ((1024 - at(storage) % 1024) % 1024) / 4;
  __shared__ unsigned slot;
  __shared__ unsigned long long barrier;
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  const unsigned warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < words; i += blockDim.x) smem[i] = images[rank * words + i];
  if (warp == 0) allocate(&slot, 512);
  if (threadIdx.x == 0) init(&barrier, 1);
  asm volatile("fence.proxy.async;" ::: "memory");
  before(); __syncthreads(); after();
  const unsigned base = slot, mine = base + (warp * 32 << 16), thread = rank * blockDim.x + threadIdx.x;
  for (int c = 0; c < n; ++c) store(mine + c, first[thread * n + c]);
  for (int c = 0; c < EXTRA; ++c) store(mine + 256 + c, extra[thread * EXTRA + c]);
  before(); BARRIER after();
  if (threadIdx.x == 0 && rank == 0) {
    for (int s = 0; s < steps; ++s)
      asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; PRODUCT}" :: "r"(base + (lane << 16)), OPERAND(A),
                   "l"(b[s] + (at(smem) >> 4)), "r"(idesc), "r"((int)(s > 0 || accumulates)),
                   "r"(base + 256 + SCALE_A + 4 * s), "r"(base + 256 + SCALE_B + 8 * s) : "memory");
    END
  }
  __syncwarp();
  await(&barrier, 0);
  after();
  for (int c = 0; c < n; ++c) out[thread * n + c] = load(mine + c);
  before(); BARRIER after();
  if (warp == 0) release(base, 512);
})";

/// The statement of one product, and the kernel around it.
std::string source_of(const Case& one) {
  const bool pair = one.shape.blocks == 2;
  std::string last, extra, masks;
  for (std::size_t i = 0; i < one.masks.size(); ++i) {
    masks += fmt::format(".reg .b32 m{0}; mov.b32 m{0}, {1}; ", i, one.masks[i]);
    extra += fmt::format("{}m{}", i == 0 ? ", {" : ", ", i);
  }
  if (!one.masks.empty()) extra += "}";
  if (one.scales != 0) extra = ", [%5], [%6]";
  if (one.shift != 0) last = fmt::format(", {}", one.shift);
  const std::string product = fmt::format("{}tcgen05.mma.cta_group::GROUP.kind::{}{}{}{} [%0], {}, %2, %3{}, p{};",
                                          masks, name_of(one.shape.kind), one.scales != 0 ? ".block_scale" : "",
                                          one.size, one.masks.empty() ? "" : ".collector::a::discard",
                                          one.a_in_tensor_memory ? "[%1]" : "%1", extra, last);
  const std::string barrier =
      pair ? "asm volatile(\"barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;\" ::: "
             "\"memory\");"
           : "__syncthreads();";
  const std::string end =
      pair
          ? R"(asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                   :: "r"(at(&barrier)), "h"((short)3) : "memory");)"
          : "commit(&barrier);";
  std::string text = std::string(kTensorPrelude) + std::string(kProductKernel);
  text = with(
      text, "OPERAND(A)",
      one.a_in_tensor_memory ? "\"r\"((unsigned)(base + (lane << 16) + 256 + a[s]))" : "\"l\"(a[s] + (at(smem) >> 4))");
  for (const auto& [what, by] : std::map<std::string, std::string>{{"EXTRA", std::to_string(kExtra)},
                                                                   {"SCALE_A", std::to_string(kScaleA)},
                                                                   {"SCALE_B", std::to_string(kScaleB)},
                                                                   {"BARRIER", barrier},
                                                                   {"PRODUCT", product},
                                                                   {"END", end}})
    text = with(text, what, by);
  return with(text, "GROUP", std::to_string(one.shape.blocks));
}

/// Where an element of D is.
struct Place {
  std::uint32_t block = 0;
  std::uint32_t lane = 0;
  std::uint32_t column = 0;
};
Place place_of(const Case& one, int m, int n) {
  const auto row = static_cast<std::uint32_t>(m), column = static_cast<std::uint32_t>(n);
  const auto half = static_cast<std::uint32_t>(one.shape.n / 2);
  if (one.shape.blocks == 2 && one.shape.m == 256) return {row / 128, row % 128, column};
  if (one.shape.blocks == 2) return {row / 64, row % 64 + column / half * 64, column % half};
  if (one.shape.m == 64) return {0, row / 16 * 32 + row % 16 + one.lane, column};
  return {0, row, column};
}

double number_in(std::uint32_t word, F format) {
  if (format == F::f16) return f32_from_f16(static_cast<std::uint16_t>(word));
  if (format == F::s32) return static_cast<std::int32_t>(word);
  return std::bit_cast<float>(word);
}
std::uint32_t word_of(double value, F format) {
  if (format == F::f16) return f16_from_f32(static_cast<float>(value));
  if (format == F::s32) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// A scale factor's byte for a block of a row: powers of two, and 1.5 of them in ue4m3.
std::uint8_t scale_bits(const TensorShape& shape, int row, int block) {
  const int exponent = (row + 3 * block) % 4 - 1;
  if (shape.scales_are_ue8m0) return static_cast<std::uint8_t>(127 + exponent);
  return e4m3_from_f32(static_cast<float>(std::ldexp(row % 2 == 0 ? 1.0 : 1.5, exponent)));
}
double scale_value(const TensorShape& shape, int row, int block) {
  const std::uint8_t bits = scale_bits(shape, row, block);
  return shape.scales_are_ue8m0 ? std::ldexp(1.0, bits - 127) : f32_from_e4m3(bits);
}

/// Words of tensor memory beside D: A where it is there, and scale factors in all four quarters.
std::vector<std::uint32_t> extra_words(const Case& one, const Operand& a) {
  const TensorShape& shape = one.shape;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(shape.blocks) * kThreads * kExtra);
  const auto cell = [&](std::uint32_t block, std::uint32_t lane, std::uint32_t column) -> std::uint32_t& {
    return words[(block * kThreads + lane) * kExtra + column];
  };
  for (int m = 0; m < shape.m && one.a_in_tensor_memory; ++m) {
    for (int k = 0; k < a.k; ++k) {
      const int bits = a.packed ? 4 : 8 * container_bytes(a.format);
      const std::uint32_t element = a.bits(m, k) << (a.format == F::e2m1 && !a.packed ? 2 : 0);
      for (int half = 0; half < 2; ++half) {
        Place place = place_of(one, m, half == 0 ? 0 : shape.n - 1);
        cell(place.block, place.lane, static_cast<std::uint32_t>(k * bits / 32)) |=
            half == 1 && place.lane == place_of(one, m, 0).lane ? 0 : element << k * bits % 32;
      }
    }
  }
  const bool split = shape.blocks == 2 && shape.m == 128;
  for (int s = 0; s < one.steps && one.scales != 0; ++s)
    for (int block = 0; block < one.scales; ++block) {
      const auto put = [&](int row, int id, int in_words, std::uint32_t column, std::uint32_t of_block,
                           std::uint32_t first_quarter, std::uint32_t quarters) {
        for (std::uint32_t q = first_quarter; q < first_quarter + quarters; ++q)
          cell(of_block, q * 32 + static_cast<std::uint32_t>(in_words % 32),
               column + static_cast<std::uint32_t>(in_words / 32)) |=
              static_cast<std::uint32_t>(scale_bits(shape, row, s * one.scales + block)) << 8 * (id + block);
      };
      for (int m = 0; m < shape.m; ++m)
        put(m, shape.scale_a, m % shape.block_rows(), kScaleA + 4 * static_cast<std::uint32_t>(s),
            static_cast<std::uint32_t>(m / shape.block_rows()), 0, 4);
      for (int n = 0; n < shape.n; ++n)
        for (int b = 0; b < shape.blocks; ++b)
          put(n, shape.scale_b, split ? n % (shape.n / 2) : n, kScaleB + 8 * static_cast<std::uint32_t>(s),
              static_cast<std::uint32_t>(b), split && n >= shape.n / 2 ? 2 : 0, split ? 2 : 4);
    }
  return words;
}

double plain_product(const Case& one, const Operand& a, const Operand& b, int m, int n) {
  double sum = 0;
  for (int k = 0; k < a.k; ++k) {
    double factor = 1;
    if (one.scales != 0) {
      const int block = k / (one.shape.k() / one.scales);
      factor = scale_value(one.shape, m, block) * scale_value(one.shape, n, block);
    }
    sum += a.at(m, k) * b.at(n, k) * factor;
  }
  return one.shape.negate_a != one.shape.negate_b ? -sum : sum;
}

/// Shared memory of the blocks, one behind the other, and the descriptors of each product.
struct Images {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> a, b;
};
Images images_of(const Case& one, const Operand& a, const Operand& b) {
  const TensorShape& shape = one.shape;
  const int blocks = shape.blocks;
  Images images;
  for (int block = 0; block < blocks; ++block) {
    const SharedImage of_a =
        shared_image(a, block * shape.block_rows(), shape.block_rows(), one.layout_a, shape.transpose_a);
    const SharedImage of_b =
        shared_image(b, block * shape.n / blocks, shape.n / blocks, one.layout_b, shape.transpose_b);
    std::vector<std::uint8_t> image = of_a.bytes;
    image.resize((image.size() + 1023) / 1024 * 1024);
    const auto begin_b = static_cast<std::uint32_t>(image.size());
    image.insert(image.end(), of_b.bytes.begin(), of_b.bytes.end());
    image.resize((image.size() + 1023) / 1024 * 1024);
    images.bytes.insert(images.bytes.end(), image.begin(), image.end());
    for (int s = 0; s < one.steps && block == 0; ++s) {
      const auto at = static_cast<std::size_t>(s);
      images.a.push_back(one.a_in_tensor_memory ? static_cast<std::uint64_t>(8 * s)
                                                : of_a.descriptor + (of_a.starts[at] >> 4));
      images.b.push_back(of_b.descriptor + ((begin_b + of_b.starts[at]) >> 4));
    }
  }
  return images;
}

struct Ran {
  std::vector<std::uint32_t> before, after;  ///< D in tensor memory, lane by lane, block by block.
  std::string finding;
};
Ran run(const Case& one, const Operand& a, const Operand& b, std::uint32_t descriptor, bool in_cluster = true) {
  const TensorShape& shape = one.shape;
  const Images images = images_of(one, a, b);
  const auto blocks = static_cast<std::uint32_t>(shape.blocks), n = static_cast<std::uint32_t>(shape.n);
  Ran ran;
  ran.before.resize(std::size_t{blocks} * kThreads * n);
  for (std::size_t i = 0; i < ran.before.size(); ++i)
    ran.before[i] = word_of(static_cast<int>(i * 7 % 33) - 16, shape.d);
  TestGpu gpu;
  gpu.load_cuda(source_of(one), "sm_100a");
  const std::uint64_t out = gpu.allocate("out", 4 * ran.before.size());
  const auto words = static_cast<std::uint32_t>(images.bytes.size() / 4) / blocks;
  const auto failure = gpu.launch(
      "k", {{blocks, 1, 1}, {kThreads, 1, 1}, 4 * words + 1024, {in_cluster ? blocks : 1, 1, 1}}, out,
      gpu.upload("images", images.bytes), static_cast<int>(words), gpu.upload("a", images.a), gpu.upload("b", images.b),
      one.steps, descriptor, one.accumulates ? 1 : 0, gpu.upload("first", ran.before),
      gpu.upload("extra", extra_words(one, a)), static_cast<int>(n), one.lane);
  if (failure) ran.finding = failure->reason;
  ran.after = gpu.download<std::uint32_t>(out, ran.before.size());
  return ran;
}

Operand first_operand(const Case& one) {
  return random_operand(one.shape.a, one.shape.packed(), one.shape.m, one.steps * one.shape.k(), 1);
}
Operand second_operand(const Case& one) {
  return random_operand(one.shape.b, one.shape.packed(), one.shape.n, one.steps * one.shape.k(), 2);
}

/// Runs a case and compares all of D, and what is beside it.
void check(const Case& one) {
  const TensorShape& shape = one.shape;
  CAPTURE(name_of(shape.kind), shape.blocks, shape.m, shape.n, name_of(shape.a), name_of(shape.b), name_of(shape.d),
          static_cast<int>(one.layout_a), static_cast<int>(one.layout_b), one.a_in_tensor_memory, one.size);
  const Operand a = first_operand(one), b = second_operand(one);
  const Ran ran = run(one, a, b, instruction_descriptor(shape));
  if (!ran.finding.empty()) FAIL(ran.finding);
  const auto n = static_cast<std::uint32_t>(shape.n);
  std::vector<std::uint32_t> wanted = ran.before;
  for (int m = 0; m < shape.m; ++m)
    for (int column = 0; column < shape.n; ++column) {
      const Place place = place_of(one, m, column);
      std::uint32_t& word = wanted[(place.block * kThreads + place.lane) * n + place.column];
      const std::size_t mask = place.block * 4 + place.lane / 32;
      if (!one.masks.empty() && (one.masks[mask] >> place.lane % 32 & 1u) != 0) continue;
      const double before = one.accumulates ? number_in(word, shape.d) * std::ldexp(1.0, -one.shift * one.steps) : 0;
      double sum = before + plain_product(one, a, b, m, column);
      if (shape.saturate) sum = std::clamp(sum, -2147483648.0, 2147483647.0);
      word = word_of(sum, shape.d);
    }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (number_in(ran.after[i], shape.d) != number_in(wanted[i], shape.d))
      FAIL("lane " << i / n << " column " << i % n << ": " << number_in(ran.after[i], shape.d) << ", not "
                   << number_in(wanted[i], shape.d));
}

/// What a product is refused for whose shape the descriptor alone says, or whose bits are changed.
std::string finding_of(const Case& one, const TensorShape& described, std::uint32_t more_bits = 0,
                       bool in_cluster = true) {
  return run(one, first_operand(one), second_operand(one), instruction_descriptor(described) | more_bits, in_cluster)
      .finding;
}

}  // namespace

TEST_CASE("tcgen05.mma multiplies each kind, for M of 64 and 128 and small and large N") {
  check(of(K::f16, 128, 64, F::f16, F::f16));
  check(of(K::f16, 64, 8, F::bf16, F::bf16));
  check(of(K::f16, 128, 256, F::f16, F::f16, F::f16));
  check(of(K::tf32, 128, 40, F::tf32, F::tf32));
  check(of(K::f8f6f4, 128, 128, F::e4m3, F::e5m2));
  check(of(K::f8f6f4, 64, 24, F::e5m2, F::e4m3, F::f16));
  check(of(K::i8, 128, 48, F::s8, F::u8, F::s32));
  check(of(K::i8, 64, 8, F::u8, F::s8, F::s32));
}

TEST_CASE("tcgen05.mma multiplies elements of 6 and 4 bits, each beside padding in 16 bytes") {
  check(of(K::f8f6f4, 128, 16, F::e2m3, F::e3m2));
  check(of(K::f8f6f4, 128, 16, F::e2m1, F::e4m3));
  check(of(K::f8f6f4, 64, 16, F::e3m2, F::e2m1));
}

TEST_CASE("tcgen05.mma reads K-major operands in every swizzle") {
  for (const L layout : {L::plain, L::by_32, L::by_64, L::by_128}) {
    Case one = of(K::f16, 128, 24, F::f16, F::f16);
    one.layout_a = one.layout_b = layout;
    check(one);
    one = of(K::f8f6f4, 64, 16, F::e4m3, F::e4m3);
    one.layout_b = layout;
    one.steps = 4;
    check(one);
  }
}

TEST_CASE("tcgen05.mma reads transposed operands of 16, 8 and 32 bits") {
  for (const L layout : {L::plain, L::by_32, L::by_64, L::by_128}) {
    Case one = of(K::f16, 128, 64, F::bf16, F::bf16);
    one.layout_a = one.layout_b = layout;
    one.shape.transpose_a = one.shape.transpose_b = true;
    check(one);
    one = of(K::f8f6f4, 128, 128, F::e4m3, F::e5m2);
    one.layout_a = one.layout_b = layout;
    one.shape.transpose_a = one.shape.transpose_b = true;
    check(one);
  }
  Case one = of(K::tf32, 128, 32, F::tf32, F::tf32);
  one.layout_a = one.layout_b = L::by_128_of_32;
  one.shape.transpose_a = one.shape.transpose_b = true;
  check(one);
}

TEST_CASE("tcgen05.mma reads A in tensor memory") {
  Case one = of(K::f16, 128, 32, F::f16, F::f16);
  one.a_in_tensor_memory = true;
  check(one);
  one.shape.m = 64;
  check(one);
  one = of(K::f8f6f4, 128, 16, F::e2m1, F::e4m3);
  one.a_in_tensor_memory = true;
  check(one);
  one = of(K::i8, 128, 32, F::s8, F::s8, F::s32);
  one.a_in_tensor_memory = true;
  check(one);
}

TEST_CASE("tcgen05.mma starts at zero, negates, scales its input, leaves lanes as they are") {
  Case one = of(K::f16, 128, 16, F::f16, F::f16);
  one.accumulates = false;
  one.shape.negate_a = true;
  check(one);
  one.accumulates = true;
  one.shape.negate_b = true;
  check(one);
  one = of(K::tf32, 128, 16, F::tf32, F::tf32);
  one.shift = 3;
  one.steps = 1;
  check(one);
  one = of(K::f16, 128, 16, F::f16, F::f16);
  one.masks = {0xf0u, 0, 0xffffffffu, 1};
  check(one);
  one = of(K::f16, 64, 16, F::f16, F::f16);
  one.lane = 16;
  check(one);
}

TEST_CASE("tcgen05.mma of a pair of blocks shares B and divides the rows of A") {
  for (const int m : {128, 256}) {
    Case one = of(K::f16, m, 64, F::f16, F::f16);
    one.shape.blocks = 2;
    check(one);
    one = of(K::f8f6f4, m, 32, F::e4m3, F::e4m3);
    one.shape.blocks = 2;
    one.a_in_tensor_memory = true;
    check(one);
  }
}

TEST_CASE("tcgen05.mma multiplies blocks by their scale factors") {
  Case one = of(K::mxf8f6f4, 128, 64, F::e4m3, F::e2m3);
  one.shape.scales_are_ue8m0 = true;
  one.scales = 1;
  for (const int id : {0, 2, 3}) {
    one.shape.scale_a = id;
    one.shape.scale_b = 3 - id;
    check(one);
  }
  one = of(K::mxf4, 128, 128, F::e2m1, F::e2m1);
  one.shape.scales_are_ue8m0 = true;
  one.scales = 2;
  one.shape.scale_a = 2;
  check(one);
  one.size = ".scale_vec::2X";
  check(one);
  one = of(K::mxf4nvf4, 128, 72, F::e2m1, F::e2m1);
  one.scales = 4;
  one.size = ".scale_vec::4X";
  check(one);
  one.a_in_tensor_memory = true;
  one.size = ".block16";
  check(one);
  one.shape.scales_are_ue8m0 = true;
  one.scales = 2;
  one.size = ".block32";
  one.shape.negate_b = true;
  check(one);
}

TEST_CASE("tcgen05.mma of a pair multiplies blocks by their scale factors") {
  for (const int m : {128, 256}) {
    Case one = of(K::mxf8f6f4, m, 128, F::e4m3, F::e4m3);
    one.shape.blocks = 2;
    one.shape.scales_are_ue8m0 = true;
    one.scales = 1;
    check(one);
  }
}

TEST_CASE("a product that the kind does not have is a finding that says why") {
  using Catch::Matchers::ContainsSubstring;
  const Case one = of(K::f16, 128, 16, F::f16, F::f16);
  const auto finding_with = [&](auto change, std::uint32_t more_bits = 0) {
    TensorShape shape = one.shape;
    change(shape);
    return finding_of(one, shape, more_bits);
  };
  CHECK_THAT(finding_with([](TensorShape& s) { s.m = 96; }), ContainsSubstring("M is 96: a block has 64 or 128"));
  CHECK_THAT(finding_with([](TensorShape& s) { s.n = 0; }), ContainsSubstring("N is 0: 8 to 256 in steps of 8"));
  CHECK_THAT(finding_with([](TensorShape& s) { s.a = F::tf32; }), ContainsSubstring("2 is no type of A of kind f16"));
  CHECK_THAT(finding_with([](TensorShape& s) { s.a = s.b = F::bf16, s.d = F::f16; }),
             ContainsSubstring("0 is no type of D for bf16 and bf16"));
  CHECK_THAT(finding_with([](TensorShape&) {}, 1u << 2), ContainsSubstring("A is sparse"));
  Case pair = of(K::f16, 256, 32, F::f16, F::f16);
  pair.shape.blocks = 2;
  CHECK_THAT(finding_of(pair, pair.shape, 0, false), ContainsSubstring(".cta_group::2 needs the pair's other block"));
  Case lane = one;
  lane.lane = 16;
  CHECK_THAT(finding_of(lane, lane.shape), ContainsSubstring("D begins at lane 16 of tensor memory: 0 is needed"));
  Case integers = of(K::i8, 128, 16, F::s8, F::s8, F::s32);
  integers.shape.negate_a = true;
  CHECK_THAT(finding_of(integers, integers.shape), ContainsSubstring("integers cannot be negated"));
}

TEST_CASE("a product must not take as A what another one under way is making") {
  using Catch::Matchers::ContainsSubstring;
  Case one = of(K::f16, 128, 16, F::f16, F::f16);
  one.a_in_tensor_memory = true;
  one.lane = 0;
  const std::string source = source_of(one);
  CHECK(finding_of(one, one.shape) == "");
  TestGpu gpu;
  gpu.load_cuda(with(source, "base + (lane << 16) + 256 + a[s]", "base + (lane << 16) + (s > 0 ? 0 : 256)"), "sm_100a");
  const Operand a = first_operand(one), b = second_operand(one);
  const Images images = images_of(one, a, b);
  const std::vector<std::uint32_t> first(kThreads * 16);
  const auto words = static_cast<std::uint32_t>(images.bytes.size() / 4);
  const auto failure =
      gpu.launch("k", {{1, 1, 1}, {kThreads, 1, 1}, 4 * words + 1024}, gpu.upload("out", first),
                 gpu.upload("images", images.bytes), static_cast<int>(words), gpu.upload("a", images.a),
                 gpu.upload("b", images.b), one.steps, instruction_descriptor(one.shape), 1, gpu.upload("first", first),
                 gpu.upload("extra", extra_words(one, a)), 16, 0u);
  REQUIRE(failure);
  CHECK_THAT(failure->reason, ContainsSubstring("uses tensor memory") &&
                                  ContainsSubstring("which has not been committed (tcgen05.commit)"));
}

}  // namespace evo::vgpu
