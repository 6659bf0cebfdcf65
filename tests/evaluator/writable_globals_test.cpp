#include "evaluator/compile/writable_globals.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"

using namespace evo;
using Names = std::vector<std::string>;

TEST_CASE("variables that are stored to, or whose address is taken, are found by name") {
  CHECK(writable_globals(".version 9.0\n.global .align 4 .u32 counter;\n"
                         ".visible .global .align 4 .b8 table[16] = {0, 1};\n"
                         ".global .attribute(.managed) .align 8 .u64 shared_with_host = 7;\n"
                         "\tst.global.u32 [counter], %r1;\n\tmov.u64 %rd1, table;\n"
                         "\t@%p1 atom.global.add.u64 %rd2, [shared_with_host], 1;\n") ==
        Names{"counter", "table", "shared_with_host"});
}

TEST_CASE("variables that are only read by name, or never named, are constants") {
  CHECK(writable_globals(".global .align 4 .u32 tile_k = 64;\n.global .align 4 .b8 table[16] = {0, 1};\n"
                         "\tld.global.u32 %r1, [table+4];\n\t@!%p2 ld.global.nc.u32 %r2, [table];\n"
                         "\tst.global.u32 [table_copy], %r1;\n")
            .empty());
}

TEST_CASE("constants, shared memory and instructions are no global variables") {
  CHECK(writable_globals(".const .align 4 .b8 table[16];\n.shared .align 4 .b8 tile[64];\n"
                         "\tcvta.to.global.u64 %rd1, %rd2;\n\tst.global.u32 [%rd1], 1;\n\tst.shared.u32 [tile], 1;\n")
            .empty());
  CHECK(writable_globals("").empty());
}

TEST_CASE("all variables in global and constant memory are listed, whatever becomes of them") {
  CHECK(device_variables(".const .align 4 .b8 table[16];\n.global .align 4 .u32 a = 1, b[2];\n"
                         ".shared .align 4 .b8 tile[64];\n\tld.const.u32 %r1, [table];\n\tst.global.u32 [a], 1;\n") ==
        Names{"table", "a", "b"});
}

TEST_CASE("each statement is examined separately, on one line with a load or over several lines") {
  const std::string declared = ".version 9.0\n.target sm_90a\n.address_size 64\n.global .align 4 .u32 calls;\n";
  CHECK(writable_globals(declared + "ld.global.u32 %r1, [table]; atom.global.add.u32 %r2, [calls], 1;\n") ==
        Names{"calls"});
  CHECK(writable_globals(declared + "ld.global.u32 %r1, [calls]; st.global.u32 [calls], 1;") == Names{"calls"});
  CHECK(writable_globals(declared + "/* ; */ st.global.u32 // [\n\t[calls], 1;") == Names{"calls"});
  CHECK(writable_globals(declared + ".loc 1 5 3 st.global.u32 [calls], 1;") == Names{"calls"});
  CHECK(writable_globals(declared + ".pragma \"; ld.global\"; st.global.u32 [calls], 1;") == Names{"calls"});
}

TEST_CASE("a global variable declared in a function, and each one of a list, is found") {
  CHECK(writable_globals(
            ".visible .entry k(\n\t.param .u64 .ptr .global .align 4 k_param_0\n)\n.maxntid 128, 1, 1\n{\n"
            "\t{ .reg .u32 t; .global .u32 evil; ld.global.u32 t, [evil];\n\tst.global.u32 [evil], t; }\n}\n") ==
        Names{"evil"});
  CHECK(writable_globals(".global .u32 a = 1, b[2] = {1, 2}, c; L1: { st.global.u32 [c], 1; } mov.u64 %rd1, b;\n") ==
        Names{"b", "c"});
}

TEST_CASE("loads of constants may have labels, guards, vectors and source locations") {
  CHECK(writable_globals(
            ".global .align 16 .b8 table[32] = {0, 1};\n.visible .entry k()\n{\n"
            "\t.loc\t1 12 3\n\tld.global.v2.u32 {%r1, %r2}, [table];\n"
            "\t.loc 1 12 3, function_name $L__info_string1+12, inlined_at 1 20 5\n\tld.global.u32 %r3, [table+8];\n"
            "$L__BB0_1:\n\t@!%p1 ld.global.nc.L1::evict_last.u32 %r4, [table]; }\n")
            .empty());
}

TEST_CASE("the address of a text that is printed may go nowhere else") {
  const std::string declared =
      ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
      ".global .align 1 .b8 text[4] = {37, 100, 10};\n.visible .entry k()\n{\n";
  const std::string taken = "mov.u64 %rd1, text; cvta.global.u64 %rd2, %rd1;\n";
  const auto call = [](const std::string& callee) {
    return "{ .param .b64 p0; st.param.b64 [p0+0], %rd2; .param .b64 p1; st.param.b64 [p1], 0; .param .b32 r0;\n"
           "call.uni (r0), " +
           callee + ", (p0, p1); ld.param.b32 %r1, [r0]; }\n";
  };
  CHECK(writable_globals(declared + taken + call("vprintf") + call("vprintf") + "ret; }\n").empty());
  CHECK(writable_globals(declared + taken + call("vprintf") + call("evil") + "ret; }\n") == Names{"text"});
  CHECK(writable_globals(declared + taken + call("vprintf") + "st.u8 [%rd2], 1; }\n") == Names{"text"});
  const std::string listed = taken + "st.local.u64 [%rd9], %rd2;\n";
  CHECK(writable_globals(declared + listed + "call vprintf, (p0, p1); }\n").empty());
  CHECK(writable_globals(declared + listed + "call evil, (p0, p1); }\n") == Names{"text"});
  CHECK(writable_globals(declared + listed + "ld.local.u64 %rd5, [%rd9]; }\n") == Names{"text"});
  CHECK(writable_globals(declared + listed + "ld.u64 %rd5, [%rd9]; }\n") == Names{"text"});
  CHECK(writable_globals(declared + taken + call("vprintf") + "add.u64 %rd3, %rd2, 1; st.global.u8 [%rd3], 1; }\n") ==
        Names{"text"});
  CHECK(writable_globals(declared + taken + call("vprintf") + "} .func (.param .b32 r) vprintf () { ret; }\n") ==
        Names{"text"});
  CHECK(writable_globals(declared + taken +
                         "{ .param .b64 p0; st.param.b64 [p0], %rd2; call vprintf, (p0, p0); call evil, (p0); } }\n") ==
        Names{"text"});
  CHECK(writable_globals(declared + taken +
                         ".param .b64 p0; { st.param.b64 [p0], %rd2; call vprintf, (p0, p0); } call evil, (p0); }\n") ==
        Names{"text"});
  CHECK(writable_globals(declared + taken +
                         "{ .param .b64 p0; st.param.b64 [p0], %rd2; @%p1 bra L; call vprintf, (p0, p0); } }\n") ==
        Names{"text"});
}

TEST_CASE("a table may be read at computed addresses; what else is done with the address counts as a write") {
  const auto with = [](const std::string& body) {
    return writable_globals(
        ".global .align 4 .b8 table[28] = {0, 1};\n.visible .entry k(.param .u64 k_param_0)\n{\n"
        "mov.u64 %rd1, table;\ncvta.global.u64 %rd2, %rd1;\nadd.s64 %rd3, %rd1, %rd9;\n" +
        body + "}\n");
  };
  const Names none, table{"table"};
  CHECK(with("ld.global.nc.f32 %f1, [%rd3];\n") == none);
  CHECK(
      with("ld.global.f32 %f1, [%rd3+4];\nmad.wide.s32 %rd4, %r1, 4, %rd3;\nld.global.v2.f32 {%f2, %f3}, [%rd4];\n") ==
      none);
  CHECK(with("mov.u64 %rd5, table+8;\nld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd3];\n") == none);
  const std::string load = "ld.global.f32 %f1, [%rd3];\n";
  CHECK(with(load + "st.global.f32 [%rd3], %f1;\n") == table);
  CHECK(with(load + "add.s64 %rd4, %rd2, 8;\nst.f32 [%rd4], %f1;\n") == table);
  CHECK(with(load + "st.global.u64 [%rd8], %rd3;\n") == table);
  CHECK(with(load + "atom.global.add.u32 %r1, [%rd3], 1;\n") == table);
  CHECK(with(load + "mov.b64 {%r1, %r2}, %rd3;\nmov.b64 %rd7, {%r1, %r2};\nst.global.f32 [%rd7], %f1;\n") == table);
  CHECK(with(load + "xor.b64 %rd7, %rd3, 0;\n") == table);
  CHECK(with(load + "{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd3;\ncall.uni f, (param0);\n}\n") == table);
  CHECK(writable_globals(".global .u64 own[2] = {own, 0};\n.visible .entry k()\n{\nmov.u64 %rd1, own;\n"
                         "ld.global.u64 %rd2, [%rd1];\nst.global.u64 [%rd2], 1;\n}\n") == Names{"own"});
}

TEST_CASE("device and static variables compiled by NVRTC are found, constant and shared ones are not") {
  std::unique_ptr<Compiler> compiler;
  try {
    compiler = make_nvrtc_compiler();
  } catch (const Error&) {
    SKIP("no NVRTC on this machine");
  }
  const auto globals_of = [&](const std::string& source) {
    const auto result = compiler->compile(source, "sm_90a", 0);
    REQUIRE(std::holds_alternative<Binary>(result));
    return writable_globals(std::get<Binary>(result).ptx);
  };
  CHECK(globals_of("__device__ int cache; extern \"C\" __global__ void k(int* o) { o[0] = cache; cache = 1; }") ==
        Names{"cache"});
  CHECK(
      globals_of(
          "constexpr int limit = 7; __device__ const int& smaller(const int& a, const int& b) { return a < b ? a : b; }"
          " extern \"C\" __global__ void k(int* o) { o[0] = smaller(o[1], limit); }")
          .empty());
  CHECK(globals_of("__device__ int* kept; extern \"C\" __global__ void k(int* o, int n) {\n"
                   "  for (int i = 0; i < n; ++i) printf(n > 3 ? \"%d %s\" : \"%d is few %s\", i, \"apples\");\n"
                   "  if (o[0] > n) __assertfail(\"o[0] <= n\", __FILE__, __LINE__, __func__, sizeof(char)); }")
            .empty());
  CHECK(globals_of(
            "__device__ char text[8]; extern \"C\" __global__ void k(char* o) { printf(text); text[0] = o[0]; }") ==
        Names{"text"});
  CHECK(
      globals_of("__device__ char text[8]; extern \"C\" __global__ void k(char** o) { printf(text); o[0] = text; }") ==
      Names{"text"});
  CHECK(globals_of("__device__ const float table[5] = {1, 2, 3, 4, 5};\n"
                   "extern \"C\" __global__ void k(float* o, int n) {\n"
                   "  o[0] = sinf(o[1] * 3e4f) + table[n % 5] + (float)cos((double)o[2]); }")
            .empty());
  CHECK(globals_of("extern \"C\" __global__ void k(int* o) { static int hidden; o[0] = hidden++; }").size() == 1);
  CHECK(globals_of("__constant__ int table[4] = {1, 2, 3, 4};\n"
                   "extern \"C\" __global__ void k(int* o) { __shared__ int s[32]; s[threadIdx.x] = table[o[0]]; "
                   "__syncthreads(); o[0] = s[o[1]]; }")
            .empty());
}
