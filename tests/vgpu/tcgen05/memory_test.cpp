#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <vector>

#include "evaluator/vgpu/ptx/load_error.h"
#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/tcgen05/source.h"

namespace evo::vgpu {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::uint32_t kColumns = 512;

/// "{%0, %1, ...}", and the operands of an asm statement that are an array's elements.
std::string registers(std::uint32_t count, std::uint32_t first = 0) {
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) text += fmt::format("{}%{}", i == 0 ? "" : ", ", first + i);
  return "{" + text + "}";
}
std::string operands(std::uint32_t count, std::string_view constraint) {
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) text += fmt::format("{}\"{}\"(r[{}])", i == 0 ? "" : ", ", constraint, i);
  return text;
}

/// A kernel of a warpgroup: fills tensor memory with `first` of each lane and column, runs `body` for each warp with
/// its registers in `r`, and writes all of tensor memory to `out`, then `r` of each thread.
std::string kernel_with(const std::string& body, std::uint32_t count, const std::string& first) {
  return with(std::string(kTensorPrelude), "GROUP", "1") + fmt::format(R"(
extern "C" __global__ void k(unsigned* out, const unsigned* in) {{
  __shared__ unsigned slot;
  const unsigned warp = threadIdx.x / 32;
  if (warp == 0) allocate(&slot, {0});
  before();
  __syncthreads();
  after();
  const unsigned base = slot, mine = base + (warp * 32 << 16);
  for (unsigned column = 0; column < {0}; ++column) {{
    const unsigned lane = threadIdx.x;
    store(mine + column, {2});
  }}
  unsigned r[{1}];
  for (int i = 0; i < {1}; ++i) r[i] = in[threadIdx.x * {1} + i];
  __syncwarp();
  {3}
  for (unsigned column = 0; column < {0}; ++column) out[threadIdx.x * {0} + column] = load(mine + column);
  for (int i = 0; i < {1}; ++i) out[128 * {0} + threadIdx.x * {1} + i] = r[i];
  before();
  __syncthreads();
  after();
  if (warp == 0) release(base, {0});
}}
)",
                                                                       kColumns, count, first, body);
}

struct Ran {
  std::vector<std::uint32_t> cells;      ///< Lane by lane.
  std::vector<std::uint32_t> registers;  ///< Thread by thread.
};
Ran run(const std::string& source, std::uint32_t count, const std::function<std::uint32_t(std::size_t)>& in) {
  TestGpu gpu;
  gpu.load_cuda(source, "sm_100a");
  std::vector<std::uint32_t> values(128 * count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = in(i);
  const std::uint64_t out = gpu.allocate("out", 4 * 128 * (kColumns + count));
  const auto failure = gpu.launch("k", {{1, 1, 1}, {128, 1, 1}}, out, gpu.upload("in", values));
  if (failure) FAIL(failure->reason);
  const auto all = gpu.download<std::uint32_t>(out, 128 * (kColumns + count));
  return {{all.begin(), all.begin() + 128 * kColumns}, {all.begin() + 128 * kColumns, all.end()}};
}

/// A register of a warp's transfer and the cell that it is: the lane from the warp's first one, and the column.
struct MovedCell {
  std::uint32_t thread = 0;
  std::uint32_t reg = 0;
  std::uint32_t lane = 0;
  std::uint32_t column = 0;
};

struct DataForm {
  std::string_view shape;
  std::uint32_t each = 1;  ///< Registers of .x1.
};
constexpr DataForm kForms[] = {{"32x32b", 1}, {"16x64b", 1}, {"16x128b", 2}, {"16x256b", 4}, {"16x32bx2", 1}};
constexpr std::uint32_t kSecond = 160;  ///< Of 16x32bx2.

/// Fragments as PTX ISA 9.0, 9.7.16.2.3.1 draws them, cell by cell: the warp goes through rows of `width` columns, in
/// eight groups of four threads.
std::vector<MovedCell> fragments(std::string_view shape, std::uint32_t units) {
  std::vector<MovedCell> all;
  for (std::uint32_t unit = 0; unit < units; ++unit)
    for (std::uint32_t thread = 0; thread < 32; ++thread) {
      if (shape == "32x32b") all.push_back({thread, unit, thread, unit});
      if (shape == "16x32bx2") all.push_back({thread, unit, thread % 16, unit + (thread < 16 ? 0 : kSecond)});
      if (shape == "16x64b") {  // Threads 0 and 2 have row 0, 1 and 3 row 8.
        const std::uint32_t row = thread / 4 + (thread % 2 == 1 ? 8 : 0);
        all.push_back({thread, unit, row, 2 * unit + (thread % 4 >= 2 ? 1 : 0)});
      }
      for (std::uint32_t half = 0; half < 2; ++half) {
        if (shape == "16x128b") all.push_back({thread, 2 * unit + half, thread / 4 + 8 * half, 4 * unit + thread % 4});
        if (shape == "16x256b")
          for (std::uint32_t second = 0; second < 2; ++second)
            all.push_back(
                {thread, 4 * unit + 2 * half + second, thread / 4 + 8 * half, 8 * unit + 2 * (thread % 4) + second});
      }
    }
  return all;
}

std::string transfer(const DataForm& form, std::uint32_t units, bool loads, bool halves, const std::string& address) {
  const std::uint32_t count = units * form.each;
  const std::string second = form.shape == "16x32bx2" ? fmt::format(", {}", kSecond) : "";
  if (loads)
    return fmt::format(R"(asm volatile("tcgen05.ld.sync.aligned.{}.x{}{}.b32 {}, [%{}]{};" : {} : "r"({}));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");)",
                       form.shape, units, halves ? ".pack::16b" : "", registers(count), count, second,
                       operands(count, "=r"), address);
  return fmt::format(R"(asm volatile("tcgen05.st.sync.aligned.{}.x{}{}.b32 [%0]{}, {};" :: "r"({}), {} : "memory");
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");)",
                     form.shape, units, halves ? ".unpack::16b" : "", second, registers(count, 1), address,
                     operands(count, "r"));
}

std::uint32_t cell_value(std::uint32_t lane, std::uint32_t column) {
  return lane << 16 | column << 4 | 1;
}
constexpr std::string_view kCellValue = "lane << 16 | column << 4 | 1";

/// Loads of every shape and .num from column 16 on, for warp 1 and its second half of lanes where the shape has 16.
void check_loads(const DataForm& form, std::uint32_t units, bool halves) {
  const std::uint32_t count = units * form.each, lower = form.shape == "32x32b" ? 0 : 16;
  const std::string address = fmt::format("mine + 16 + ({} << 16)", lower);
  CAPTURE(form.shape, units, halves);
  const Ran ran = run(kernel_with(transfer(form, units, true, halves, address), count, std::string(kCellValue)), count,
                      [](std::size_t) { return 0u; });
  for (const MovedCell& one : fragments(form.shape, units)) {
    const std::uint32_t lane = 32 + lower + one.lane;
    std::uint32_t wanted = cell_value(lane, 16 + one.column);
    if (halves) {
      const bool second = form.shape == "16x32bx2" && one.thread >= 16;
      const std::uint32_t column = 16 + (second ? kSecond : 0) + 2 * (one.column - (second ? kSecond : 0));
      wanted = (cell_value(lane, column) & 0xffffu) | cell_value(lane, column + 1) << 16;
    }
    if (ran.registers[(32 + one.thread) * count + one.reg] == wanted) continue;
    FAIL("thread " << one.thread << " register " << one.reg << ": " << std::hex
                   << ran.registers[(32 + one.thread) * count + one.reg] << ", not " << wanted);
  }
}

}  // namespace

TEST_CASE("tcgen05.ld has the ISA's fragments in every shape") {
  for (const DataForm& form : kForms)
    for (const std::uint32_t units : {1u, 2u, 8u}) check_loads(form, units, false);
}

TEST_CASE("tcgen05.ld packs the low halves of neighbouring columns") {
  for (const DataForm& form : kForms) check_loads(form, 4, true);
}

TEST_CASE("tcgen05.ld has as many registers as its shape allows, 128 at most") {
  for (const DataForm& form : kForms) check_loads(form, (form.shape == "16x32bx2" ? 64 : 128) / form.each, false);
}

TEST_CASE("tcgen05.st writes the cells that tcgen05.ld reads, and no others") {
  for (const DataForm& form : kForms)
    for (const bool halves : {false, true}) {
      constexpr std::uint32_t kUnits = 4;
      const std::uint32_t count = kUnits * form.each;
      CAPTURE(form.shape, halves);
      const Ran ran = run(kernel_with(transfer(form, kUnits, false, halves, "mine + 8"), count, "7"), count,
                          [](std::size_t i) { return static_cast<std::uint32_t>(i) * 0x10001u + 0x1000u; });
      std::vector<std::uint32_t> wanted(128 * kColumns, 7);
      for (std::uint32_t warp = 0; warp < 4; ++warp)
        for (const MovedCell& one : fragments(form.shape, kUnits)) {
          const std::uint32_t value = ((warp * 32 + one.thread) * count + one.reg) * 0x10001u + 0x1000u;
          std::uint32_t* const row = &wanted[(warp * 32 + one.lane) * kColumns];
          if (!halves) {
            row[8 + one.column] = value;
            continue;
          }
          const std::uint32_t start = form.shape == "16x32bx2" && one.thread >= 16 ? kSecond : 0;
          row[8 + start + 2 * (one.column - start)] = value & 0xffffu;
          row[8 + start + 2 * (one.column - start) + 1] = value >> 16;
        }
      CHECK(ran.cells == wanted);
    }
}

namespace {

/// The finding of a kernel of a warpgroup with 64 allocated columns from `base` on.
std::string finding_of(const std::string& body, std::uint32_t threads = 128) {
  TestGpu gpu;
  gpu.load_cuda(with(std::string(kTensorPrelude), "GROUP", "1") + R"(
extern "C" __global__ void k(unsigned* out) {
  __shared__ unsigned slot, other;
  __shared__ unsigned long long barrier;
  const unsigned warp = threadIdx.x / 32;
  if (warp == 0) allocate(&slot, 64);
  if (threadIdx.x == 0) init(&barrier, 1);
  before(); __syncthreads(); after();
  const unsigned base = slot, mine = base + (warp * 32 << 16);
  unsigned word = threadIdx.x;
  )" + body + R"(
  out[threadIdx.x] = word;
  before(); __syncthreads(); after();
  END
})",
                "sm_100a");
  const std::uint64_t out = gpu.allocate("out", 4 * threads);
  const auto failure = gpu.launch("k", {{1, 1, 1}, {threads, 1, 1}}, out);
  return failure ? failure->reason : "";
}

std::string finding_with_end(const std::string& body, const std::string& end = "if (warp == 0) release(base, 64);") {
  return finding_of(with(body, "END", "") + "\n#define END " + end + "\n");
}

const std::string kLoad =
    R"(asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(word) : "r"(mine));)";
const std::string kStore =
    R"(asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%1], {%0};" :: "r"(word), "r"(mine));)";
const std::string kWaitLoad = R"(asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");)";
const std::string kWaitStore = R"(asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");)";

}  // namespace

TEST_CASE("loads and stores that are waited for have no finding") {
  CHECK(finding_with_end(kStore + kWaitStore + kLoad + kWaitLoad) == "");
  CHECK(finding_with_end("asm volatile(\"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\");") == "");
}

TEST_CASE("a register of tcgen05.ld is used before tcgen05.wait::ld") {
  CHECK_THAT(finding_with_end(kStore + kWaitStore + kLoad + "asm volatile(\"add.u32 %0, %0, 1;\" : \"+r\"(word));" +
                              kWaitLoad),
             ContainsSubstring("a register of a tcgen05.ld that has not been waited for"));
}

TEST_CASE("a load follows a store without tcgen05.wait::st, and a store a load without tcgen05.wait::ld") {
  CHECK_THAT(finding_with_end(kStore + kLoad + kWaitLoad + kWaitStore),
             ContainsSubstring("tcgen05.ld") && ContainsSubstring("(tcgen05.wait::st)"));
  CHECK_THAT(finding_with_end(kStore + kWaitStore + kLoad +
                              "asm volatile(\"tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%0};\" :: \"r\"(mine));" +
                              kWaitLoad + kWaitStore),
             ContainsSubstring("tcgen05.st") && ContainsSubstring("(tcgen05.wait::ld)"));
}

TEST_CASE("a warp reaches the lanes of its own quarter alone") {
  CHECK_THAT(finding_with_end("if (warp == 1) word = load(base);"),
             ContainsSubstring("warp 1 reaches lanes 32 to 63 of tensor memory") &&
                 ContainsSubstring("the address has lane 0"));
}

TEST_CASE("columns must be allocated before they are used") {
  CHECK_THAT(finding_with_end("store(mine + 64, 1);"),
             ContainsSubstring("column 64 of tensor memory is not allocated"));
  CHECK_THAT(finding_with_end("store(mine + 511, 1); store(mine + 512, 1);"), ContainsSubstring("not allocated"));
}

TEST_CASE("an allocation has a power of two of columns, from 32 to 512") {
  for (const char* columns : {"48", "16", "1024", "0"})
    CHECK_THAT(finding_with_end(fmt::format("if (warp == 1) allocate(&other, {});", columns)),
               ContainsSubstring(fmt::format("{} columns: a power of two from 32 to 512 is needed", columns)));
}

TEST_CASE("an allocation waits for columns until they are freed, and for ever if they never are") {
  CHECK(finding_with_end("if (warp == 1) allocate(&other, 512); if (warp == 0) release(base, 64);"
                         "before(); __syncthreads(); after();",
                         "if (warp == 1) release(other, 512);") == "");
  CHECK_THAT(finding_with_end("if (warp == 1) allocate(&other, 512);"),
             ContainsSubstring("deadlock") && ContainsSubstring("warp 1 waits in tcgen05.alloc") &&
                 ContainsSubstring("for 512 columns of tensor memory side by side: 448 are free"));
}

TEST_CASE("columns are freed once, as they were allocated, and before the block ends") {
  CHECK_THAT(finding_with_end("", ""),
             ContainsSubstring("64 columns of tensor memory from column 0 are still allocated") &&
                 ContainsSubstring("tcgen05.dealloc is missing"));
  CHECK_THAT(finding_with_end("", "if (warp == 0) { release(base, 64); release(base, 64); }"),
             ContainsSubstring("no allocation has 64 columns from lane 0, column 0"));
  CHECK_THAT(finding_with_end("", "if (warp == 0) release(base, 32);"),
             ContainsSubstring("no allocation has 32 columns"));
}

TEST_CASE("a block that has relinquished its permit does not allocate") {
  CHECK_THAT(
      finding_with_end("if (warp == 0) { asm volatile(\"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\");"
                       "allocate(&other, 32); }"),
      ContainsSubstring("the block has given up allocation"));
}

TEST_CASE("tcgen05 that does not exist is refused by name") {
  const auto refusal = [](const std::string& instruction) -> std::string {
    TestGpu gpu;
    try {
      gpu.load_ptx(
          ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() { .reg .b32 %r<9>; .reg .b64 %d<9>;"
          ".reg .pred %p<3>;\n" +
          instruction + "\nret; }\n");
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(refusal("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r2];"), ContainsSubstring("x128"));
  CHECK_THAT(refusal("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1}, [%r2];"), ContainsSubstring("2 registers"));
  CHECK_THAT(refusal("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%d1], 32;\n"
                     "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, 32;"),
             ContainsSubstring("one .cta_group"));
  CHECK_THAT(refusal("tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1;"),
             ContainsSubstring("weight-stationary"));
  CHECK_THAT(refusal("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r1], %d1, %d2, %r2, [%r3], [%r4], %p1;"),
             ContainsSubstring(".scale_vec is missing"));
  CHECK_THAT(refusal("tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, {%r3, %r4}, %p1;"),
             ContainsSubstring("4 masks"));
}

}  // namespace evo::vgpu
