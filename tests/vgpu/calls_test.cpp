// Calls that are not inlined, and malloc in kernels.
#include <random>

#include "tests/vgpu/outside_kernels.h"

using namespace evo::vgpu;

namespace {

using Ints = std::vector<std::int32_t>;

Ints ints(Outside& gpu, std::string_view kernel, std::uint32_t threads) {
  const auto out = gpu.upload("out", Ints(threads, 0));
  gpu.run(kernel, {{1, 1, 1}, {threads, 1, 1}}, out);
  return gpu.download<std::int32_t>(out, threads);
}

int path_sum(const int* of_caller, int depth) {
  int own[4];
  for (int i = 0; i < 4; ++i) own[i] = of_caller[3 - i] + depth * i;
  return depth == 0 ? own[0] + own[3] : path_sum(own, depth - 1) + own[1];
}

/// Functions f0, f1 ... that each call the preceding one twice, and a kernel that calls the last.
std::string doubling_calls(int functions) {
  std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n.func f0() { ret; }\n";
  for (int i = 1; i < functions; ++i) {
    const std::string call = "call f" + std::to_string(i - 1) + ";";
    text += ".func f" + std::to_string(i) + "() {" + call + call + " ret; }\n";
  }
  return text + ".visible .entry k() { call f" + std::to_string(functions - 1) + "; ret; }\n";
}

}  // namespace

TEST_CASE("each lane calls the function that its pointer holds") {
  Outside gpu("calls.cu");
  const Ints got = ints(gpu, "call_table", 64);
  for (int t = 0; t < 64; ++t) CHECK(got[t] == (t % 3 == 0 ? t + 7 : t % 3 == 1 ? t * 7 : t - 7));
}

TEST_CASE("recursion of different depth in each lane is right: direct, mutual and with arrays in its frames") {
  Outside gpu("calls.cu");
  const Ints fibonacci{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  const Ints numbers = ints(gpu, "fibonacci_numbers", 64);
  for (std::size_t t = 0; t < 64; ++t) CHECK(numbers[t] == fibonacci[t % 12]);
  const Ints even = ints(gpu, "even_or_odd", 64);
  for (int t = 0; t < 64; ++t) CHECK(even[t] == 1 - t % 2);
  const Ints arrays = ints(gpu, "own_arrays", 64);
  for (int t = 0; t < 64; ++t) {
    const int first[4] = {1, 2, 3, t};
    CHECK(arrays[t] == path_sum(first, t % 5));
  }
}

TEST_CASE("a recursive quicksort in every thread sorts") {
  Outside gpu("calls.cu");
  constexpr int kCount = 48;
  std::mt19937 source(1);
  Ints values(32 * kCount);
  for (auto& value : values) value = static_cast<int>(source() % 1000);
  const auto at = gpu.upload("values", values);
  gpu.run("sort_each", {}, at, kCount);
  for (auto i = values.begin(); i != values.end(); i += kCount) std::sort(i, i + kCount);
  CHECK(gpu.download<std::int32_t>(at, values.size()) == values);
}

TEST_CASE("virtual calls and delete of allocated objects work") {
  Outside gpu("calls.cu");
  const auto out = gpu.upload("out", std::vector<float>(64, 0));
  gpu.run("shapes", {{1, 1, 1}, {64, 1, 1}}, out);
  const auto areas = gpu.download<float>(out, 64);
  for (int t = 0; t < 64; ++t) CHECK(areas[t] == static_cast<float>(t % 2 == 0 ? t * t : 3 * t));
}

TEST_CASE("lists of allocated nodes keep their values, and the heap is as large as a GPU's") {
  Outside gpu("calls.cu");
  const Ints got = ints(gpu, "linked_list", 40);
  for (int t = 0; t < 40; ++t) {
    std::uint32_t digest = 0;
    for (int i = t; i >= 0; --i) digest = digest * 3 + static_cast<std::uint32_t>(i);
    CHECK(got[t] == static_cast<std::int32_t>(digest));
  }
  const auto out = gpu.upload("out", Ints{0});
  gpu.run("exhaust_heap", {{1, 1, 1}, {1, 1, 1}}, out);
  CHECK(gpu.download<std::int32_t>(out, 1).front() == 7);  // The heap has 8 MiB, and each allocation has an overhead.
}

TEST_CASE("a function's stack allocations are freed when it returns") {
  Outside gpu("calls.cu");
  const Ints got = ints(gpu, "sum_in_room_on_stack", 40);
  for (int t = 0; t < 40; ++t) CHECK(got[t] == 200 * (t * 128 * 127 / 2));  // 200 times 512 bytes of 16 KiB.
}

TEST_CASE("calls of null pointers, endless recursion and misuse of the heap are reported") {
  Outside gpu("calls.cu");
  const auto out = gpu.upload("out", Ints(32, 0));
  const auto reason = [&](std::string_view kernel, auto... arguments) {
    const auto failure = gpu.launch(kernel, {{1, 1, 1}, {1, 1, 1}}, arguments...);
    return failure ? failure->reason : std::string("nothing");
  };
  CHECK(contains(reason("call_null", out), "the pointer leads to no function"));
  CHECK(contains(reason("recurse_for_ever", out), "stack of 16384 bytes full"));
  CHECK(contains(reason("free_twice"), "which malloc has not returned or which is freed"));
  CHECK(contains(reason("use_after_free", out), "reads 4 bytes at"));
}

TEST_CASE("inlining is limited when each function calls the preceding one twice") {
  TestGpu gpu;
  gpu.load_ptx(doubling_calls(30));
  CHECK(gpu.module().kernel("k")->code.size() < 100'000);
  gpu.set_budget({.warp_instructions = 10'000, .launch_instructions = 10'000});
  const auto failure = gpu.launch("k", {});
  REQUIRE(failure);
  CHECK(failure->verdict == evo::Verdict::timed_out);
  CHECK(gpu.executed() <= 10'001);  // The budget ends a warp at once, not when it would yield.
}

TEST_CASE("only the lanes of a call's guard make the call") {
  TestGpu gpu;
  gpu.load_ptx(R"(.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 o) twice(.param .b32 i) { .reg .b32 a; ld.param.b32 a, [i]; add.u32 a, a, a; st.param.b32 [o], a; ret; }
.visible .entry k(.param .u64 out) {
  .reg .b32 t, r; .reg .b64 p, q; .reg .pred low;
  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mul.wide.u32 q, t, 4; add.u64 p, p, q; setp.lt.u32 low, t, 5;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], t; st.param.b32 [b], 77; @low call (b), twice, (a); ld.param.b32 r, [b]; }
  st.global.u32 [p], r; ret;
})");
  const auto out = gpu.allocate("out", 32 * 4);
  if (const auto failure = gpu.launch("k", {}, out)) FAIL(failure->reason);
  const auto got = gpu.download<std::int32_t>(out, 32);
  for (int t = 0; t < 32; ++t) CHECK(got[t] == (t < 5 ? 2 * t : 77));
}
