#include "population/package/filled.h"

#include <catch2/catch_test_macros.hpp>

using namespace evo;

TEST_CASE("a hole within a line is filled wherever it stands") {
  CHECK(filled("test___NAME__(__CALL__)\n", {{"NAME", "evo"}, {"CALL", "q, k"}}) == "test_evo(q, k)\n");
  CHECK(filled("__SIZES__ __SIZES_SHOWN__\n", {{"SIZES", "B"}, {"SIZES_SHOWN", "B = 1"}}) == "B B = 1\n");
  CHECK(filled("#define F(...) f(__VA_ARGS__)\n", {{"NAME", "evo"}}) == "#define F(...) f(__VA_ARGS__)\n");
}

TEST_CASE("what fills a hole is not searched for holes") {
  CHECK(filled("x = __A__\n__A__\n", {{"A", "__B__"}, {"B", "1"}}) == "x = __B__\n__B__\n");
}

TEST_CASE("a hole alone on its line stands for lines, each indented as the hole is") {
  CHECK(filled("if a:\n    __LINES__\nend\n", {{"LINES", "if b:\n    c()\n\nd()\n"}}) ==
        "if a:\n    if b:\n        c()\n\n    d()\nend\n");
  CHECK(filled("    __LINES__\n", {{"LINES", "no end"}}) == "    no end\n");
  CHECK(filled("a\n    __LINES__\nb\n", {{"LINES", ""}}) == "a\nb\n");
}
