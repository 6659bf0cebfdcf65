#include <fstream>
#include <iterator>
#include <random>

#include "evaluator/vgpu/isa/instruction_set.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo::vgpu;

namespace {

std::string kernel_text(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n" + body + "\nret;\n}\n";
}

/// Why the text does not load; empty when it does.
std::string refusal(const std::string& ptx) {
  TestGpu gpu;
  try {
    gpu.load_ptx(ptx);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an unknown instruction is refused with its line of source") {
  const std::string reason =
      refusal(kernel_text(".reg .b32 a; .reg .b64 d;\n.file 1 \"k.cu\"\n.loc 1 42 3\nmultimem.st.global.u32 [d], a;"));
  CHECK(reason == "unsupported instruction multimem.st.global.u32 at line 42 (PTX line 9)");
}

TEST_CASE("a variable in memory that is a predicate is refused") {
  CHECK(contains(refusal(".version 9.0\n.target sm_90a\n.address_size 64\n.const .pred c[4] = {1, 2};\n"),
                 "a variable of type .pred"));
}

TEST_CASE("unknown modifiers, types and shapes are refused by name") {
  const std::string registers = ".reg .b32 a, b, c; .reg .f32 f; .reg .b64 d; .reg .pred p;\n";
  CHECK(contains(refusal(kernel_text(registers + "add.sideways.u32 a, b, c;")),
                 "add.sideways.u32 (PTX line 7): modifier .sideways"));
  CHECK(contains(refusal(kernel_text(registers + "shl.b8 a, b, c;")), "type .b8"));
  CHECK(contains(refusal(kernel_text(registers + "cvt.rz.f32.b32 f, a;")), "cvt.rz.f32.b32"));
  CHECK(contains(refusal(kernel_text(registers + "cvt.rn.b32.f32 a, f;")), "cvt.rn.b32.f32"));
  CHECK(contains(
      refusal(kernel_text(registers +
                          "mma.sync.aligned.m16n8k3.row.col.f32.f16.f16.f32 {f,f,f,f},{a,a,a,a},{b,b},{f,f,f,f};")),
      "m16n8k3"));
  CHECK(contains(refusal(kernel_text(registers + "shfl.up.b32 a, b, c, 0;")), "only shfl.sync"));
  CHECK(contains(refusal(kernel_text(registers + "add.u32 a, b;")), "too few operands"));
  CHECK(contains(refusal(kernel_text(registers + "add.u64 d, a, d;")), "narrower"));
  CHECK(contains(refusal(kernel_text(registers + "add.u32 a, p, b;")), "predicate"));
  CHECK(contains(refusal(kernel_text(registers + "mov.u32 a, %nonsense;")), "%nonsense"));
  CHECK(contains(refusal(kernel_text(registers + "mov.u32 a, %clock64;")), "%clock64 has another width"));
  CHECK(contains(refusal(kernel_text(registers + "mov.u64 d, %clock;")), "%clock has another width"));
  CHECK(contains(refusal(kernel_text(registers + "bra nowhere;")), "unknown label nowhere"));
}

TEST_CASE("malformed text is refused with its PTX line") {
  CHECK(contains(refusal(kernel_text("add.u32 %r1, %r2, 3;")), "%r1"));
  CHECK(contains(refusal(".version 9.0\n.target sm_90\n.address_size 32\n"), "PTX line 3: only 64-bit addresses"));
  CHECK(contains(refusal(".version 9.0\n.frobnicate 3;\n"), "PTX line 2: unknown directive .frobnicate"));
  CHECK(contains(refusal(kernel_text(".reg .b32 r<4000000000>;")), "too many registers"));
  CHECK(contains(refusal(kernel_text(".reg .b32 a; mov.u32 a, 0x12345678123456789;")), "too many digits"));
  CHECK(contains(refusal(".version 9.0\n.entry k() { .reg .b32 a; mov.u32 a, 3"), "the text ends"));
  CHECK(contains(refusal(".global .align 4 .b8 x[4] = {1, 2, 3, 4, 5};"), "more initial values"));
  CHECK(contains(refusal(".global .b8 y; .global .align 16 .b128 x[1] = {y};"),
                 "an address as an initial value of 128 bits"));
  CHECK(contains(refusal(".visible .entry k() { @3 ret; }"), "a name is expected"));
  CHECK(contains(refusal(".global .b8 x[99999999999999];"), "too large"));
}

TEST_CASE("inline assembly scopes hide names, and labels belong to their scope") {
  const auto got = run_snippet(R"(
    { .reg .b32 t; mov.u32 t, 5; { .reg .b32 t; mov.u32 t, 100; again: sub.u32 t, t, 1; setp.ne.u32 r, t, 0; @r bra again; add.u32 d32, d32, t; }
      add.u32 d32, d32, t; }
    { .reg .b32 t<3>; mov.u32 t2, 7; again: sub.u32 t2, t2, 1; setp.ne.u32 r, t2, 3; @r bra again; add.u32 d32, d32, t2; }
  )",
                               32, {{1, 2, 3}});
  CHECK(got[0] == 8);
}

TEST_CASE("literals of every notation have their value") {
  const auto value = [](const std::string& literal) {
    return run_snippet("mov.b64 d64, " + literal + ";", 64, {{0, 0, 0}})[0];
  };
  CHECK(value("0x1F") == 31);
  CHECK(value("017") == 15);
  CHECK(value("0b101") == 5);
  CHECK(value("-3") == 0xfffffffffffffffdull);
  CHECK(value("4000000000U") == 4000000000ull);
  CHECK(value("0d3FF8000000000000") == 0x3ff8000000000000ull);
  CHECK(value("1.5") == 0x3ff8000000000000ull);
  CHECK(value("WARP_SZ") == 32);
  CHECK(run_snippet("mov.f32 d32, 0fBF800000; add.f32 d32, d32, 2.0;", 32, {{0, 0, 0}})[0] == 0x3f800000);
}

TEST_CASE("registers narrower and wider than the instruction are converted where PTX allows it") {
  CHECK(run_snippet("{ .reg .b64 w; mov.b64 w, 0x1122334455667788; cvt.u32.u8 d32, w; }", 32, {{0, 0, 0}})[0] == 0x88);
  CHECK(run_snippet("{ .reg .b32 w; mov.b32 w, 0xfff0; cvt.s64.s16 d64, w; }", 64, {{0, 0, 0}})[0] ==
        0xfffffffffffffff0ull);
  CHECK(run_snippet("cvt.s16.s8 d64, a64;", 64, {{0x80, 0, 0}})[0] == 0xffffffffffffff80ull);
  CHECK(run_snippet("cvt.s8.s32 d16, a32;", 16, {{0x1f0, 0, 0}})[0] == 0xfff0);
}

TEST_CASE("a guarded write keeps the other lanes' values") {
  const std::vector<Inputs> inputs = {{0, 5, 0}, {3, 5, 0}, {0, 9, 0}, {1, 0, 0}};
  CHECK(run_snippet("mov.u32 d32, b32; @p add.u32 d32, d32, 100; @!p mul.lo.u32 d32, d32, 2;", 32, inputs) ==
        std::vector<std::uint64_t>{10, 105, 18, 100});
}

TEST_CASE("values live across loops and branches keep their registers") {
  // Many values at once, written in a loop and read after it: a register reused too early would change
  // the sum.
  std::string text = "{ .reg .b32 v<60>; .reg .b32 n;";
  for (int i = 0; i < 60; ++i) text += "mov.u32 v" + std::to_string(i) + ", " + std::to_string(i * i) + ";";
  text += "mov.u32 n, 0; top: add.u32 n, n, 1;";
  for (int i = 0; i < 60; i += 3) text += "add.u32 v" + std::to_string(i) + ", v" + std::to_string(i) + ", n;";
  text += "setp.lt.u32 r, n, a32; @r bra top;";
  for (int i = 0; i < 60; ++i)
    text += "mad.lo.u32 d32, v" + std::to_string(i) + ", " + std::to_string(i + 1) + ", d32;";
  text += "}";
  const auto got = run_snippet(text, 32, {{1, 0, 0}, {4, 0, 0}, {9, 0, 0}});
  for (const auto& [trips, index] : {std::pair{1u, 0}, {4u, 1}, {9u, 2}}) {
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < 60; ++i) expected += (i * i + (i % 3 == 0 ? trips * (trips + 1) / 2 : 0)) * (i + 1);
    CHECK(got[static_cast<std::size_t>(index)] == expected);
  }
}

TEST_CASE("docs/vgpu.md has the instruction table that the code prints") {
  std::ifstream file(std::string(EVO_SOURCE_DIR) + "/docs/vgpu.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "<!-- instructions -->\n";
  const auto from = text.find(begin), to = text.find("<!-- end of instructions -->");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  CHECK(text.substr(from + begin.size(), to - from - begin.size()) == instruction_table());
}

TEST_CASE("damaged PTX loads or is refused") {
  const std::string sound = kernel_text(R"(.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<3>; .reg .f32 %f<4>;
.shared .align 16 .b8 s[64];
ld.param.u64 %rd1, [p];
cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 16;
@%p1 bra $L1;
{ .reg .b16 l, h; mov.b32 {l, h}, %r1; mov.b32 %r2, {h, l}; }
ld.global.v2.f32 {%f1, %f2}, [%rd1+8];
fma.rn.f32 %f3, %f1, 0f3F800000, %f2;
$L1: shfl.sync.bfly.b32 %r3|%p2, %r1, 1, 31, -1;
atom.global.add.u32 %r4, [%rd1], %r3;
bar.sync 0;)");
  REQUIRE(refusal(sound).empty());
  std::mt19937 random(17);
  for (int i = 0; i < 4000; ++i) {
    std::string text = sound;
    for (int change = 0; change < 1 + i % 4; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, 1 + random() % 12);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), 1 + random() % 20));
          break;
        default:
          text[at] = "{}[]();,.@!|0%$-"[random() % 16];
          break;
      }
      if (text.empty()) text = " ";
    }
    refusal(text);  // Loads or throws LoadError; anything else ends the test.
  }
  SUCCEED();
}
