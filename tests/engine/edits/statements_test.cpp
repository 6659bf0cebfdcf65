#include "engine/edits/statements.h"

#include <algorithm>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

std::vector<std::string> texts_of(const std::string& source, const Block& block) {
  std::vector<std::string> texts;
  for (const Statement& one : block.statements) texts.emplace_back(one.range.of(source));
  return texts;
}

}  // namespace

TEST_CASE("a function's body is cut into statements, and these into their parts") {
  const std::string source =
      "__device__ int f(int a) { return a; }\n"
      "__global__ void k(float* y, int n) {\n"
      "  float v[2] = {1.f, 2.f};  // of { it\n"
      "  if (n > 1) y[0] = v[0]; else { y[1] = v[1]; }\n"
      "  auto g = [&](int i) { return i; };\n"
      "#pragma unroll 4\n"
      "  for (int i = 0; i < n; ++i) { y[i] += g(i); __syncthreads(); }\n"
      "  do n /= 2; while (n > 0);\n"
      "  MACRO for (;;) break;\n"
      "  asm volatile(\"{ mov.u32 %0, 1; }\" : \"=r\"(n));\n"
      "  switch (n) { case 1: y[0] = 1; break; }\n"
      "}\n";
  const SourceStructure structure = structure_of(source);
  REQUIRE(structure.functions.size() == 2);
  const FunctionText& kernel = structure.functions[1];
  CHECK(kernel.parameters.of(source) == "float* y, int n");
  const std::vector<std::string> statements = texts_of(source, kernel.body);
  REQUIRE(statements.size() == 8);
  CHECK(statements[0] == "float v[2] = {1.f, 2.f};");
  CHECK(statements[1] == "if (n > 1) y[0] = v[0]; else { y[1] = v[1]; }");
  CHECK(statements[2] == "auto g = [&](int i) { return i; };");
  CHECK(statements[3].starts_with("#pragma unroll 4\n  for"));
  CHECK(statements[4] == "do n /= 2; while (n > 0);");
  CHECK(statements[5] == "MACRO for (;;) break;");
  CHECK(statements[6].ends_with("\"=r\"(n));"));
  CHECK(statements[7].ends_with("break; }"));
  const Statement& branch = kernel.body.statements[1];
  CHECK(branch.head.of(source) == "n > 1");
  REQUIRE(branch.blocks.size() == 2);
  CHECK(!branch.blocks[0].braced);
  CHECK(texts_of(source, branch.blocks[1]) == std::vector<std::string>{"y[1] = v[1];"});
  CHECK(texts_of(source, kernel.body.statements[3].blocks[0]) ==
        std::vector<std::string>{"y[i] += g(i);", "__syncthreads();"});
}

TEST_CASE("template holes and directives do not confuse the statements") {
  const std::string source =
      "__global__ void k(float* y) {\n"
      "  y[0] = ${vector > 1 ? '}' : '{'} + tile_${n};\n"
      "  //% if vector == 1\n"
      "  y[1] = @scale@;\n"
      "  //% end\n"
      "}\n";
  const SourceStructure structure = structure_of(source);
  REQUIRE(structure.functions.size() == 1);
  const Block& body = structure.functions[0].body;
  REQUIRE(body.statements.size() == 2);
  CHECK(!structure.has_directive(body.statements[0].range));
  CHECK(structure.has_directive({body.statements[0].range.begin, body.statements[1].range.end}));
  CHECK(structure.code.find("@scale@") == std::string::npos);
}

TEST_CASE("a function that is not understood is left out, and the next one is found") {
  const std::string good = "__global__ void good(float* y) { y[0] = 1; }\n";
  for (const std::string bad :
       {"__global__ void k(int n) { if (n > 1) {\n#if A\n  n = 1; } else {\n#else\n  }\n#endif\n}\n",
        "__device__ void k(int n) { else n = 1; }\n", "__device__ void k( { n = 1; }\n", "struct S { int a; };\n",
        "int a[] = {1, 2};\n"}) {
    INFO(bad);
    const SourceStructure structure = structure_of(bad + good);
    CHECK(std::ranges::any_of(structure.functions, [&](const FunctionText& one) {
      return one.parameters.of(bad + good) == "float* y" && one.body.statements.size() == 1;
    }));
  }
}

TEST_CASE("no text makes the cutting fail") {
  Rng rng(7);
  const std::string alphabet = "{}()[];,if(for while{do;#\n/*\"'$@%x= ";
  for (int i = 0; i < 2000; ++i) {
    std::string text = "__global__ void k(int n) {";
    for (std::uint64_t length = rng.below(60); length > 0; --length) text += alphabet[rng.below(alphabet.size())];
    for (const FunctionText& function : structure_of(text).functions) CHECK(function.body.range.end <= text.size());
  }
  std::string deep = "void k() {";
  for (int i = 0; i < 100'000; ++i) deep += "{";
  CHECK(structure_of(deep).functions.empty());
}
