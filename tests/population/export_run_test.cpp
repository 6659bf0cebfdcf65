// Exported files are compiled and run here: with the host's compiler against a CUDA runtime that lives on the
// CPU (exported/fake_cudart.cpp), and, where the CUDA Toolkit is installed, with nvcc.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstddef>
#include <cstring>
#include <optional>
#include <regex>

#include "engine/task/plan_resolution.h"
#include "evaluator/device/inputs.h"
#include "tests/population/export_fixture.h"
#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

void replace(std::string& text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("the exported program accepts a right kernel and launches what the plan says") {
  const ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  const ToyProgram program(export_cuda(request));
  const auto plan = [&](const Shape& shape) {
    return resolve_plan(request.task, request.family, request.provenance.genome, request.provenance.target.options,
                        shape, request.provenance.device.facts);
  };

  // Without arguments: the first timed shape, printed with its claim.
  const std::string first = program.run_successfully();
  CHECK_THAT(first, ContainsSubstring("toy R=70 N=64 on Fake GPU"));
  CHECK_THAT(first, ContainsSubstring("first call"));
  CHECK_THAT(first, ContainsSubstring("after timing"));
  CHECK_THAT(first,
             ContainsSubstring("warm latency 5.00 us"));  // The runtime's clock says 0.1 ms for 20 calls.
  CHECK_THAT(first, ContainsSubstring("claimed      8.91 us (narrow, Test GPU)"));
  CHECK(lines_with(first, "launch") == launch_lines(plan(request.task.shape("narrow")), "N64"));
  CHECK(lines_with(first, "map") == "map type 0 rank 2 dims 64 70 stride 64 box 64 1 swizzle 2\n");
  // 64 KB of shared memory are asked for, once.
  CHECK(lines_with(first, "attribute") == "attribute 8 of toy_sum_N64 is 65536\n");

  // The other specialisation, and a size at which the launch plan takes another branch (R > 100).
  const std::string large = program.run_successfully("R=101,N=128");
  CHECK(lines_with(large, "launch") == launch_lines(plan(parse_shape(request.task, "101,128")), "N128"));
  CHECK_THAT(large, !ContainsSubstring("claimed"));

  CHECK(program.run("1,64").exit_code == 0);
  for (const std::string bad : {"3,65", "0,64", "x", "1,2,3", "Q=1", "R=1 2", "-1,64", "99999999999,64"}) {
    const CommandResult refused = program.run(bad);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.output,
               ContainsSubstring("usage: ") && ContainsSubstring("[R,N] [check], with N == 64 or N == 128"));
  }
}

TEST_CASE("the exported program checks without timing when asked to") {
  ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  const ToyProgram program(export_cuda(request));
  const std::string checked = program.run_successfully("1,64 check");
  CHECK_THAT(checked, ContainsSubstring("first call") && !ContainsSubstring("warm latency"));
}

TEST_CASE("the exported program rejects a wrong kernel") {
  const ToyProgram program(export_cuda(export_request(toy_tree(), "toy", {"narrow"}, toy_genes("forgets_scale"), 90)));
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, ContainsSubstring("WRONG"));
}

TEST_CASE("the exported program rejects a kernel that leaves an output unwritten") {
  SourceTree tree = toy_tree();
  tree["toy/plain/kernel.cu"].replace(tree["toy/plain/kernel.cu"].find("i < count) y[i]"), 9, "i + 1 < count");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, ContainsSubstring("WRONG (not finite)"));
}

namespace {

/// Compiles the file by the command that it names itself, into an object file.
CommandResult compile_by_its_own_command(const std::string& text) {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const std::size_t start = text.find("nvcc -std");
  std::string command = text.substr(start, text.find(" -c FILE.cu", start) - start);
  const TempFolder folder;
  write_text(folder / "best.cu", text);
  return run_command(fmt::format("'{}'{} -DEVO_MAIN -c '{}' -o '{}'", nvcc, command.substr(4),
                                 (folder / "best.cu").string(), (folder / "best.o").string()));
}

}  // namespace

TEST_CASE("an exported launcher never lowers the shared memory of a kernel that a plan launches twice") {
  SourceTree tree = toy_tree();
  // The same again with less shared memory.
  replace(
      tree["toy/plain/family.json"], R"json("programmatic": "pdl",)json",
      R"json("programmatic": "pdl", "dynamic_smem": "100000", "arguments": ["x_map", "x_scale", "sums", "y", "R * N"]},
    {"kernel": "toy_apply", "grid": ["ceil_div(N, threads)", "R", "1"], "block": ["threads", "1", "1"], "dynamic_smem": "60000",)json");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  const std::string result = program.run_successfully();  // Its timing calls the launcher again.
  CHECK(lines_with(result, "attribute 8 of toy_apply") == "attribute 8 of toy_apply_N64 is 100000\n");
}

TEST_CASE("the exported program rejects every result when the reference is not finite") {
  SourceTree tree = toy_tree();
  replace(tree["toy/reference.cu"], "double sum = 0;", "double sum = row == 3 ? __builtin_nan(\"\") : 0;");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, ContainsSubstring("WRONG (the reference is not finite)"));
}

TEST_CASE("derived values may have any name, those of the host code and of C++ too") {
  SourceTree tree = toy_tree();
  std::string& family = tree["toy/plain/family.json"];
  replace(family, R"json("derived": [)json", R"json("derived": [
    {"name": "bytes", "value": "R * 4"}, {"name": "next", "value": "bytes + N"}, {"name": "limit", "value": "next > 5"},
    {"name": "box", "value": "max(N, R)"}, {"name": "dims", "value": "R"}, {"name": "error", "value": "box"},
    {"name": "launch", "value": "log2(R)"}, {"name": "stream", "value": "R % 7"}, {"name": "arguments", "value": "limit ? R : N"},
    {"name": "default", "value": "min(arguments, stream) // 3 + (1 << launch)"},)json");
  replace(family, R"json("bytes": "R * 4")json", R"json("bytes": "bytes + default % 1")json");
  replace(family, R"json("arguments": ["x_map", "x_scale", "sums", "y", "R * N"])json",
          R"json("arguments": ["x_map", "x_scale", "sums", "y", "dims * N"])json");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  program.run_successfully();
}

TEST_CASE("tensors, parameters, workspaces and tensor maps may have any name, those of the host code and of C++ too") {
  SourceTree tree = toy_tree();
  const std::vector<std::pair<std::string, std::string>> names = {
      {"R", "using"},      {"x", "register"}, {"x_scale", "namespace"}, {"y", "unsigned"},
      {"x_map", "encode"}, {"sums", "all"},   {"never", "goto"},        {"many", "stream"}};
  for (const char* file : {"toy/task.json", "toy/plain/family.json"}) {
    for (const auto& [name, other] : names)
      tree[file] = std::regex_replace(tree[file], std::regex("\\b" + name + "\\b"), other);
  }
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  for (const char* shape : {"", "using=101"}) {
    program.run_successfully(shape);
  }
}

TEST_CASE("an exported file has no workspace and no kernel for a size that its launcher refuses") {
  SourceTree tree = toy_tree();
  // The grid ends at 65535 rows; bytes of the workspace end at 64 bits.
  replace(tree["toy/plain/family.json"], R"json("bytes": "R * row_bytes")json",
          R"json("bytes": "R > 60000 ? R * R * R * R * R : R * row_bytes")json");
  const ExportRequest request = export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90);
  const std::string probe = R"cuda(
#include <cstdio>
static const int probe = [] {
  alignas(256) static char memory[1];
  for (const int rows : {70, 59999}) std::printf("probe %d: %zu\n", rows, evo_toy_workspace_bytes(rows, 64));
  for (const int rows : {-1, 60001, 65536, 33554432, 2147483647}) {
    const cudaError_t called = evo_toy(memory, (float*)memory, (float*)memory, rows, 64, memory, nullptr);
    std::printf("probe %d: %zu, error %d\n", rows, evo_toy_workspace_bytes(rows, 64), called);
  }
  return 0;
}();
)cuda";
  const ToyProgram program(export_cuda(request) + probe);
  const std::string result = program.run_successfully("1,64 check");
  CHECK(lines_with(result, "probe") ==
        "probe 70: 512\nprobe 59999: 15599872\nprobe -1: 0, error 1\nprobe 60001: 0, error 1\nprobe 65536: 0, error 1\n"
        "probe 33554432: 0, error 1\nprobe 2147483647: 0, error 1\n");

  ExportRequest other = export_request(tree, "toy", {"wide"}, toy_genes("right"), 90);
  const ToyProgram several(export_dispatch({request, other}) + R"cuda(
#include <cstdio>
static const int probe = [] {
  for (const int rows : {0, 70, 65536}) std::printf("probe %d: %d\n", rows, evo_toy_kernel(rows, 64));
  return 0;
}();
)cuda");
  CHECK(lines_with(several.run("1,64 check").output, "probe") == "probe 0: -1\nprobe 70: 0\nprobe 65536: -1\n");
}

namespace {

/// Inputs of one tensor of 64 elements as the search makes them, with one scale or without.
std::vector<std::vector<std::byte>> searched_inputs(DType dtype, bool scaled) {
  CaseRecipe recipe;
  const auto scale = scaled ? std::optional<std::uint32_t>(1) : std::nullopt;
  recipe.inputs = {{"x", dtype, 64, 64, 64, 64, Distribution::normal, 100, 7, scale, false}};
  if (scaled)
    recipe.inputs.push_back({"x_scale", DType::f32, 1, 1, 1, 1, Distribution::normal, 1, 0, std::nullopt, true});
  return generate_inputs(recipe);
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("the exported program encodes u8 inputs as the search does") {
  const std::vector<float> values = floats(searched_inputs(DType::f32, false)[0]);
  const std::vector<std::vector<std::byte>> scaled = searched_inputs(DType::u8, true);
  const std::vector<std::vector<std::byte>> plain = searched_inputs(DType::u8, false);
  std::string list, expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    list += fmt::format("{:a}F, ", values[i]);
    expected += fmt::format("code {} {}\n", std::to_integer<int>(scaled[0][i]), std::to_integer<int>(plain[0][i]));
  }
  const std::string probe = fmt::format(
      R"cuda(
#include <cstdio>
static const int probe = [] {{
  for (const float value : {{{}}}) {{
    unsigned char scaled = 0, plain = 0;
    evo_main::encode(evo_main::DType::u8, evo_main::scaled_by(evo_main::DType::u8, value, {:a}F), &scaled);
    evo_main::encode(evo_main::DType::u8, value, &plain);
    std::printf("code %d %d\n", scaled, plain);
  }}
  return 0;
}}();
)cuda",
      list, floats(scaled[1])[0]);
  const ToyProgram program(export_cuda(export_request(toy_tree(), "toy", {"narrow"}, toy_genes("right"), 90)) + probe);
  CHECK(lines_with(program.run("1,64 check").output, "code") == expected);
}

TEST_CASE("nvcc compiles an exported wgmma kernel by the command at its top") {
  SourceTree tree = load_tree(std::filesystem::path(EVO_SOURCE_DIR) / "templates");
  std::erase_if(tree, [](const auto& file) { return file.first.starts_with("fp8_sdpa/mma_sync/"); });
  const ExportRequest request = export_request(tree, "fp8_sdpa", {"mission"}, {}, 90);
  REQUIRE(request.family.name == "wgmma");
  const CommandResult result = compile_by_its_own_command(export_cuda(request));
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

TEST_CASE("nvcc compiles an exported attention kernel of two head sizes, without a warning") {
  const SourceTree tree = load_tree(std::filesystem::path(EVO_SOURCE_DIR) / "templates");
  const ExportRequest request = export_request(tree, "fp8_sdpa", {"mission", "d128"},
                                               {{"tile_q", std::int64_t{16}}, {"kv_split", std::int64_t{2}}}, 89);
  check_nvcc_compiles(export_cuda(request), "-arch=sm_89 -DEVO_MAIN");
}

TEST_CASE("nvcc compiles an exported launcher with tensor maps and clusters, without a warning") {
  const ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  check_nvcc_compiles(export_cuda(request), "-arch=sm_90a -c");
}
