#include "engine/source/source_mutation.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using namespace evo;

namespace {

/// What each mutation named `operation` makes of the source.
std::vector<std::string> made_by(const std::string& operation, const std::string& source) {
  std::vector<std::string> made;
  for (const SourceMutation& mutation : source_mutations(code_only(source)))
    if (mutation.operation == operation) made.push_back(mutated(source, mutation));
  return made;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a mutation of max or min names a function of the same type") {
  CHECK(made_by("max becomes min", "x = fmaxf(a, max(b, fmax(c, d)));") == Texts{"x = fminf(a, max(b, fmax(c, d)));",
                                                                                 "x = fmaxf(a, min(b, fmax(c, d)));",
                                                                                 "x = fmaxf(a, max(b, fmin(c, d)));"});
  CHECK(made_by("min becomes max", "x = fminf(a, b);") == Texts{"x = fmaxf(a, b);"});
  CHECK(made_by("max becomes min", "x = row_max(a);").empty());
}

TEST_CASE("a constant is made larger with its suffix and exponent; zero stays as it is") {
  CHECK(made_by("a constant is 1 % larger", "x = 2.5f; y = 1.5; z = 1e3f; w = 3.0e-5f; v = 0.0f; u = 0.00;") ==
        Texts{"x = (1.01f * 2.5f); y = 1.5; z = 1e3f; w = 3.0e-5f; v = 0.0f; u = 0.00;",
              "x = 2.5f; y = (1.01f * 1.5); z = 1e3f; w = 3.0e-5f; v = 0.0f; u = 0.00;",
              "x = 2.5f; y = 1.5; z = 1e3f; w = (1.01f * 3.0e-5f); v = 0.0f; u = 0.00;"});
}

TEST_CASE("comments, texts and preprocessor lines are not mutated, and lines are counted") {
  const std::string source =
      "#define LIMIT \\\n 1.5f\n// max(a, b)\nconst char* text = \"max(1.5f)\";\nx = max(a, b);\n";
  const std::vector<SourceMutation> mutations = source_mutations(code_only(source));
  REQUIRE(mutations.size() == 1);
  CHECK(mutations[0].operation == "max becomes min");
  CHECK(mutations[0].line == 5);
}

TEST_CASE("rounding modes are exchanged, of functions and of PTX in asm") {
  constexpr const char* kToZero = "rounding to nearest becomes towards zero";
  CHECK(made_by(kToZero, "y = __float2int_rn(__fmul_rn(a, rintf(b)));") ==
        Texts{"y = __float2int_rz(__fmul_rn(a, rintf(b)));", "y = __float2int_rn(__fmul_rz(a, rintf(b)));",
              "y = __float2int_rn(__fmul_rn(a, truncf(b)));"});
  CHECK(made_by(kToZero, "y = __float2bfloat16(x);") == Texts{"y = __float2bfloat16_rz(x);"});
  CHECK(made_by(kToZero, "asm(\"cvt.rni.s32.f32 %0, %1;\" : \"=r\"(y) : \"f\"(x)); text = \"cvt.rni.s32.f32\";") ==
        Texts{"asm(\"cvt.rzi.s32.f32 %0, %1;\" : \"=r\"(y) : \"f\"(x)); text = \"cvt.rni.s32.f32\";"});
  CHECK(made_by("ties are rounded away from zero", "y = rintf(a) + __float2int_rn(b);") ==
        Texts{"y = roundf(a) + __float2int_rn(b);", "y = rintf(a) + (int)roundf(b);"});
  CHECK(made_by("rounding down becomes up", "y = floorf(a) + __fdiv_rd(a, b);") ==
        Texts{"y = ceilf(a) + __fdiv_rd(a, b);", "y = floorf(a) + __fdiv_ru(a, b);"});
}

TEST_CASE("sums are made less precise; steps of loops are no sums") {
  CHECK(made_by("a double is a float", "double sum = 0, rest; double parts[4];") ==
        Texts{"float sum = 0, rest; double parts[4];", "double sum = 0, rest; float parts[4];"});
  CHECK(
      made_by("the sum has 11 bits of precision", "for (int i = 0; i < n; i += 32) acc[i] += a[i] * b;") ==
      Texts{"for (int i = 0; i < n; i += 32) acc[i] = __uint_as_float((__float_as_uint(acc[i] + (a[i] * b)) + 0x1000u) "
            "& 0xffffe000u);"});
}

TEST_CASE("conditions at ends are moved and dropped") {
  CHECK(made_by("the end is one earlier", "if (i < n && j>=m) y = 1;") == Texts{"if (i < n - 1 && j>=m) y = 1;"});
  CHECK(made_by("< becomes <=", "for(int i=0;i<n;i++) f<int>(i);") == Texts{"for(int i=0;i<=n;i++) f<int>(i);"});
  CHECK(made_by("a guard is dropped", "if (i >= n) return; if (f(i) < n) y[i] = j < n ? x : 0;") ==
        Texts{"if (false) return; if (f(i) < n) y[i] = j < n ? x : 0;",
              "if (i >= n) return; if (true) y[i] = j < n ? x : 0;",
              "if (i >= n) return; if (f(i) < n) y[i] = true ? x : 0;"});
  CHECK(made_by("half of a guard is dropped", "if (r < M && k0 + k < K) f(); if (r >= M || k >= K) return;") ==
        Texts{"if (true && k0 + k < K) f(); if (r >= M || k >= K) return;",
              "if (r < M && true) f(); if (r >= M || k >= K) return;",
              "if (r < M && k0 + k < K) f(); if (false || k >= K) return;",
              "if (r < M && k0 + k < K) f(); if (r >= M || false) return;"});
  CHECK(made_by("a quotient is rounded down", "a = (n + t - 1) / t + ceil_div(n, 4);") ==
        Texts{"a = (n) / t + ceil_div(n, 4);", "a = (n + t - 1) / t + ((n) / (4));"});
}

TEST_CASE("code that a compiler made no instructions of is dead; its lines and columns stay") {
  const std::string source = R"cu(#define wide 0
__device__ float unused(float x) {
  return x + 1;
}
constexpr int padded(int n) { return n + 1; }
__device__ float twice(float x) {
  if constexpr (wide) {
    x = x + 2;
  } else {
    x = x + 3;
  }
#if wide
  for (int i = 0; i < 2; ++i) {
    x = x + 4;
#else
  for (int i = 0; i < 3; ++i) {
    x = x + 5;
#endif
  }
  return x;
}
)cu";
  const std::string live = live_code(source, {10, 17, 20});
  CHECK(live.size() == source.size());
  const auto holds = [&](const std::string& part) { return live.find(part) == source.find(part); };
  CHECK(holds("n + 1"));
  CHECK(holds("x + 3"));
  CHECK(holds("x + 5"));
  CHECK(holds("i < 3"));
  for (const char* dead : {"x + 1", "x + 2", "x + 4", "i < 2"}) CHECK(live.find(dead) == std::string::npos);
}
