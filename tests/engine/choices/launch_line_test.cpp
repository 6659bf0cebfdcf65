#include "engine/choices/launch_line.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/base/error.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Texts = std::vector<std::string>;

TEST_CASE("a launch line has kernel, grid, block, shared memory and arguments") {
  const LaunchLine plain =
      parse_launch_line("k<<<ceil_div(N, 256), 256>>>(y=out float[M, N], x=float[N]:normal(0, 2), N);");
  CHECK(plain.kernel == "k");
  CHECK(plain.grid == Texts{"ceil_div(N, 256)"});
  CHECK(plain.block == Texts{"256"});
  CHECK(plain.shared.empty());
  CHECK(plain.arguments == Texts{"y=out float[M, N]", "x=float[N]:normal(0, 2)", "N"});
  const LaunchLine full =
      parse_launch_line(" ns::k<float, 2> <<<dim3(ceil_div(N, 8), M), dim3(8, 4, 2), 4 * N>>> (N) ");
  CHECK(full.kernel == "ns::k<float, 2>");
  CHECK(full.grid == Texts{"ceil_div(N, 8)", "M"});
  CHECK(full.block == Texts{"8", "4", "2"});
  CHECK(full.shared == "4 * N");
}

TEST_CASE("a launch line that lacks something is refused with what it lacks") {
  for (const auto& [text, lack] :
       std::vector<std::pair<std::string, std::string>>{{"k(x)", "<<< and >>>"},
                                                        {"<<<1, 2>>>(x)", "name"},
                                                        {"k<<<1>>>(x)", "grid, block"},
                                                        {"k<<<1, 2, 3, 4>>>(x)", "grid, block"},
                                                        {"k<<<1, 32>>>", "arguments"},
                                                        {"k<<<1, 32>>>(x=float[1],,y=float[1])", "two commas"},
                                                        {"k>>>1, 2<<<(x)", "<<< and >>>"},
                                                        {"", "<<< and >>>"}}) {
    INFO(text);
    CHECK_THROWS_MATCHES(parse_launch_line(text), Error, MessageMatches(ContainsSubstring(lack)));
  }
}

TEST_CASE("lines of a source say how it is launched") {
  const std::string source =
      "// evo: size N=4\n  // evo: launch k<<<1, 2>>>(N)  \n// evo: size N=5\n// evo: launched\n";
  CHECK(comments_in(source, kLaunchComment) == Texts{"k<<<1, 2>>>(N)"});
  CHECK(comments_in(source, kSizeComment) == Texts{"N=4", "N=5"});
}
