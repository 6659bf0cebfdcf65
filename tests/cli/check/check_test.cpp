#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/ten_lines.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

nlohmann::json checked(const Bench& bench, int code, const std::string& subject = "conv.json") {
  return bench.json({"check", subject}, code);
}

/// The first shape of the first family.
nlohmann::json first_shape(const nlohmann::json& check) {
  return check["families"][0]["shapes"][0];
}

}  // namespace

TEST_CASE("check prints one screen for a task that is fine") {
  const ConvolutionBench bench;
  const Outcome outcome = bench.evo({"check", "conv.json"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("conv on vgpu:h200"));
  CHECK_THAT(outcome.out, ContainsSubstring("family tuned, first genome"));
  CHECK_THAT(outcome.out, ContainsSubstring("6x40") && ContainsSubstring("5x33"));
  CHECK_THAT(outcome.out, ContainsSubstring("kernels found: convolution, convolution_naive"));
  CHECK_THAT(outcome.out, ContainsSubstring(" registers, 0 B spilled"));
  CHECK_THAT(outcome.out, ContainsSubstring("clean"));
  CHECK(outcome.out.ends_with("fine\n"));
}

TEST_CASE("check of a shipped folder's task looks at each family") {
  const ToyBench bench;
  const auto check = checked(bench, 0, "toy");
  CHECK(check["fine"] == true);
  CHECK(!check["families"][0]["shapes"].empty());
}

TEST_CASE("check names a gene that nothing reads") {
  const Bench bench;
  write_convolution(bench,
                    {{"genes", {{"block_size_x", {16}}, {"block_size_y", {1}}, {"tile", {1}}, {"vector", {1, 2}}}}});
  const auto check = checked(bench, 1);
  CHECK(check["families"][0]["unused_genes"] == nlohmann::json{"vector"});
  CHECK(first_shape(check)["right"] == true);
}

TEST_CASE("check names an argument that the kernel takes as another type") {
  const Bench bench;
  write_convolution(
      bench, {{"arguments",
               {"out=out float[H, W]", "image=float[H + 4, W + 4]", "filter=float[5, 5]", "int:1", "size_t:W", "H"}}});
  const auto check = checked(bench, 1);
  CHECK_THAT(check["families"][0]["arguments"][0].get<std::string>(),
             ContainsSubstring("conv.json: arguments[3]: int is given, convolution takes float"));
  write_convolution(
      bench,
      {{"arguments", {"out=out float[H, W]", "image=float[H + 4, W + 4]", "filter=float[5, 5]", "float:1", "W", "H"}}});
  CHECK_THAT(
      checked(bench, 1)["families"][0]["arguments"][0].get<std::string>(),
      ContainsSubstring("conv.json: arguments[4]: int is given, convolution takes") && ContainsSubstring("8 bytes"));
}

TEST_CASE("check names the compiler's complaint") {
  const ConvolutionBench bench;
  bench.write("conv.cu", changed_convolution("float sum = 0;", "float sum = O;"));
  const auto shape = first_shape(checked(bench, 1));
  CHECK(shape["rendered"] == true);
  CHECK(shape["compiled"] == false);
  CHECK_THAT(shape["problem"].get<std::string>(),
             ContainsSubstring("conv.cu:8: ") && ContainsSubstring("\"O\" is undefined"));
}

TEST_CASE("check says how wrong an answer is") {
  const ConvolutionBench bench;
  bench.write("conv.cu", changed_convolution("float sum = 0;", "float sum = 0.1f;"));
  const auto shape = first_shape(checked(bench, 1));
  CHECK(shape["ran"] == true);
  CHECK(shape["right"] == false);
  CHECK_THAT(shape["problem"].get<std::string>(), ContainsSubstring("wrong answer: out: "));
  CHECK(shape["outputs"][0]["relative_l2"].get<double>() > shape["outputs"][0]["limit"].get<double>());
}

TEST_CASE("check shows what the sanitiser finds") {
  const ConvolutionBench bench;
  bench.write("conv.cu",
              changed_convolution("if (x >= (int)width || y >= height) continue;", "if (y >= height) continue;"));
  const auto check = checked(bench, 1);
  bool found = false;
  for (const auto& shape : check["families"][0]["shapes"]) found = found || !shape["findings"].empty();
  CHECK(found);
}

TEST_CASE("check says which shapes it left out, and why") {
  const Bench bench;
  write_convolution(bench, {{"shapes", {{{"H", 6}, {"W", 40}}, {{"H", 20000}, {"W", 20000}}}}});
  const auto check = checked(bench, 0);
  CHECK_THAT(check["skipped"][0].get<std::string>(), ContainsSubstring("20000x20000: too much work"));
}

TEST_CASE("check runs on a virtual GPU and says so") {
  const ConvolutionBench bench;
  check_refused(bench.evo({"check", "conv.json", "--device", "cuda:0"}), 3, {"cuda:0"});
  check_refused(bench.evo({"check", "cnv"}), 2, {"unknown task"});
}

TEST_CASE("check names a reference that is at fault") {
  const ConvolutionBench bench;
  bench.write("conv.cu", changed_convolution("double sum = 0;", "double sum = width / 0.0;"));
  const auto check = checked(bench, 1);
  CHECK_THAT(check["reference"][0].get<std::string>(),
             ContainsSubstring("6x40: ") && ContainsSubstring("no finite value"));
  CHECK_THAT(bench.evo({"check", "conv.json"}).out, ContainsSubstring("reference: 6x40: "));
}

TEST_CASE("check shows what a kernel prints") {
  const ConvolutionBench bench;
  bench.write("conv.cu", changed_convolution("float sum = 0;",
                                             "float sum = 0; if (x == 3 && y == 2) printf(\"at %d, %d\\n\", x, y);"));
  const Outcome outcome = bench.evo({"check", "conv.json"});
  CHECK_THAT(outcome.out, ContainsSubstring("the kernel printed\n    at 3, 2\n"));
}

TEST_CASE("ten kernels of other kinds are fine as they are", "[long]") {
  const Bench bench;
  std::size_t checked = 0;
  for (const auto& file : std::filesystem::directory_iterator(EVO_TEST_DATA "/tune")) {
    if (file.path().extension() != ".json") continue;
    const Outcome outcome = bench.evo({"check", file.path().string()});
    CHECK(outcome.code == 0);
    ++checked;
  }
  CHECK(checked >= 10);
}

TEST_CASE("check names the lines of the author's file in what the sanitiser finds") {
  const ConvolutionBench bench;
  bench.write("conv.cu", changed_convolution("x >= (int)width || y >= height", "y >= height"));
  const Outcome outcome = bench.evo({"check", "conv.json"});
  CHECK_THAT(outcome.out, ContainsSubstring("conv.cu:"));
}

TEST_CASE("check names a __constant__ variable that is silently zero", "[long]") {
  const Bench bench;
  write_constant_convolution(bench, {{"constants", {{"d_filter", "filter=float[5, 5]"}}}});
  const auto check = checked(bench, 1);
  CHECK(check["families"][0]["zero_constants"] == nlohmann::json{"d_scale"});
  CHECK_THAT(bench.evo({"check", "conv.json"}).out,
             ContainsSubstring("constant: nothing fills __constant__ d_scale: it is zero (key 'constants')"));
  write_constant_convolution(bench);
  CHECK(checked(bench, 0)["families"][0]["zero_constants"].empty());
}

TEST_CASE("check names a variable of another size, and one that is not there") {
  const Bench bench;
  write_constant_convolution(bench, {{"constants", {{"d_filter", "filter=float[5, 6]"}, {"d_scale", "float:0.5"}}}});
  CHECK(first_shape(checked(bench, 1))["problem"] == "conv.json: variable d_filter has 100 bytes, filter has 120");
  write_constant_convolution(bench, {{"constants", {{"d_filtre", "filter=float[5, 5]"}, {"d_scale", "float:0.5"}}}});
  CHECK_THAT(first_shape(checked(bench, 1))["problem"].get<std::string>(),
             ContainsSubstring("the program has no variable d_filtre: identifier \"d_filtre\" is undefined"));
}
