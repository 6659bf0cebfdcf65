#include "engine/search/near_duplicate.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using evo::nearly_same;

namespace {

const std::string kLoop = R"cuda(
// sums
float sum = 0;
for (int i = 0; i < ${items}; ++i) sum += __expf(x[i]) * threadIdx.x;
y[0] = sum;
)cuda";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kLoop;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("texts that differ in comments, blanks and names of variables are nearly the same") {
  CHECK(nearly_same(kLoop, kLoop));
  CHECK(nearly_same(kLoop, with("// sums\n", "/* adds\n them */")));
  CHECK(nearly_same(kLoop, with("; ", ";\n\t")));
  CHECK(nearly_same(kLoop, with("sum", "total")));
}

TEST_CASE("texts that differ in what they compute are not") {
  CHECK(!nearly_same(kLoop, with("__expf", "expf")));
  CHECK(!nearly_same(kLoop, with("float", "double")));
  CHECK(!nearly_same(kLoop, with("threadIdx.x", "threadIdx.y")));
  CHECK(!nearly_same(kLoop, with("x[i]", "z[i]")));  // names of the kernel around it
  CHECK(!nearly_same(kLoop, with("${items}", "${columns}")));
  CHECK(!nearly_same(kLoop, with("= 0", "= 1")));
  CHECK(!nearly_same(kLoop, with("+=", "-=")));
  CHECK(!nearly_same(kLoop, kLoop + "//% include \"a.cuh\"\n"));
  CHECK(!nearly_same(kLoop + "//% include \"a.cuh\"\n", kLoop + "//% include \"b.cuh\"\n"));
  CHECK(!nearly_same("int a = f(), b = g(); y = a - b;", "int a = f(), b = g(); y = b - a;"));
  CHECK(!nearly_same("s = \"a // b\";", "s = \"a // c\";"));
  CHECK(!nearly_same("#define A 1\n", "#define A 2\n"));
  CHECK(!nearly_same("// a", "// b"));  // no code
}
