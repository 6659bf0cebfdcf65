// Arguments of kernels as task.json and family.json write them.

#include "engine/task/argument.h"

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const Bindings kKnown = {{"N", std::int64_t{100}}, {"epsilon", 1e-5}, {"causal", true}};

std::vector<Scalar> values(std::string_view text) {
  return evaluate(parse_argument(text), kKnown);
}

std::string complaint(std::string_view text) {
  return complaint_of([&] { values(text); });
}

}  // namespace

TEST_CASE("whole numbers have C's names, as long as they may be") {
  for (const auto& [name, dtype] : std::vector<std::pair<std::string, DType>>{{"signed char", DType::s8},
                                                                              {"unsigned int", DType::u32},
                                                                              {"unsigned long", DType::u64},
                                                                              {"long int", DType::s64},
                                                                              {"unsigned long long int", DType::u64},
                                                                              {"short int", DType::s16},
                                                                              {"unsigned", DType::u32},
                                                                              {"std::uint8_t", DType::u8}}) {
    INFO(name);
    REQUIRE(type_named(name));
    CHECK(type_named(name)->element == dtype);
  }
  CHECK_FALSE(type_named("long double"));
  CHECK_FALSE(type_named("unsigned float"));
}

TEST_CASE("a plain expression is an int") {
  CHECK(values("N * 2") == std::vector<Scalar>{{{DType::s32, 1}, {std::int64_t{200}}}});
  CHECK(values("causal ? N : 0") == std::vector<Scalar>{{{DType::s32, 1}, {std::int64_t{100}}}});
  CHECK(parse_argument("x").may_be_name);
  CHECK_FALSE(parse_argument("x + 1").may_be_name);
}

TEST_CASE("a scalar has the type in front of its colon, and its value is an expression") {
  CHECK(values("float:epsilon") == std::vector<Scalar>{{{DType::f32, 1}, {1e-5}}});
  CHECK(values("float: rsqrt(N)") == std::vector<Scalar>{{{DType::f32, 1}, {0.1}}});
  CHECK(values("double:N") == std::vector<Scalar>{{{DType::f64, 1}, {100.0}}});
  CHECK(values("size_t:N") == std::vector<Scalar>{{{DType::u64, 1}, {std::int64_t{100}}}});
  CHECK(values("bool:causal") == std::vector<Scalar>{{{DType::boolean, 1}, {std::int64_t{1}}}});
  CHECK(values("unsigned char:255") == std::vector<Scalar>{{{DType::u8, 1}, {std::int64_t{255}}}});
}

TEST_CASE("vectors, structs and null pointers are arguments too") {
  CHECK(values("float4:1, 2, max(1, 3), 4") == std::vector<Scalar>{{{DType::f32, 4}, {1.0, 2.0, 3.0, 4.0}}});
  const std::vector<Scalar> fields = {{{DType::s8, 1}, {std::int64_t{3}}}, {{DType::f64, 1}, {0.5}}};
  CHECK(values("{char:3; double:0.5}") == fields);
  CHECK(values("null") == std::vector<Scalar>{{{DType::u64, 1}, {std::int64_t{0}}}});
}

TEST_CASE("an argument that its type cannot hold is refused with the reason") {
  CHECK_THAT(complaint("N * 100000000"),
             ContainsSubstring("'N * 100000000': int holds whole numbers from -2147483648 to 2147483647"));
  CHECK_THAT(complaint("uchar:N + 200"), ContainsSubstring("unsigned char holds whole numbers from 0 to 255, not 300"));
  CHECK_THAT(complaint("int:epsilon"), ContainsSubstring("a real number stands where an integer is needed"));
  CHECK_THAT(complaint("float4:1,2"), ContainsSubstring("float4 has 4 values, 2 were given"));
  CHECK_THAT(complaint("{float:1;2}"), ContainsSubstring("'2' is not TYPE:VALUE"));
  CHECK_THAT(complaint("e2m1:1"), ContainsSubstring("share a byte"));
}
