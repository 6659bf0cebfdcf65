// Exported files are compiled and run here: with the host's compiler against a CUDA runtime that lives on the
// CPU (exported/fake_cudart.cpp), and, where the CUDA Toolkit is installed, with nvcc.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <regex>

#include "engine/task/plan_resolution.h"
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

TEST_CASE("the exported program finds a right kernel right and launches what the plan says") {
  const ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  const ToyProgram program(export_cuda(request));
  const auto plan = [&](const Shape& shape) {
    return resolve_plan(request.task, request.family, request.provenance.genome, request.provenance.target.options,
                        shape, request.provenance.device.facts);
  };

  // Without arguments: the first timed shape, with its claim beside the finding.
  const CommandResult first = program.run();
  INFO(first.output);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.output, ContainsSubstring("toy R=70 N=64 on Fake GPU"));
  CHECK_THAT(first.output, ContainsSubstring("first call"));
  CHECK_THAT(first.output, ContainsSubstring("after timing"));
  CHECK_THAT(first.output,
             ContainsSubstring("warm latency 5.00 us"));  // The runtime's clock says 0.1 ms for 20 calls.
  CHECK_THAT(first.output, ContainsSubstring("claimed      8.91 us (narrow, Test GPU)"));
  CHECK(lines_with(first.output, "launch") == launch_lines(plan(request.task.shape("narrow")), "N64"));
  CHECK(lines_with(first.output, "map") == "map type 0 rank 2 dims 64 70 stride 64 box 64 1 swizzle 2\n");
  // 64 KB of shared memory are asked for, once.
  CHECK(lines_with(first.output, "attribute") == "attribute 8 of toy_sum_N64 is 65536\n");

  // The other specialisation, and a size at which the launch plan takes another branch (R > 100).
  const CommandResult large = program.run("R=101,N=128");
  INFO(large.output);
  CHECK(large.exit_code == 0);
  CHECK(lines_with(large.output, "launch") == launch_lines(plan(parse_shape(request.task, "101,128")), "N128"));
  CHECK_THAT(large.output, !ContainsSubstring("claimed"));

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
  const CommandResult checked = program.run("1,64 check");
  INFO(checked.output);
  CHECK(checked.exit_code == 0);
  CHECK_THAT(checked.output, ContainsSubstring("first call") && !ContainsSubstring("warm latency"));
}

TEST_CASE("the exported program finds a wrong kernel wrong") {
  const ToyProgram program(export_cuda(export_request(toy_tree(), "toy", {"narrow"}, toy_genes("forgets_scale"), 90)));
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, ContainsSubstring("WRONG"));
}

TEST_CASE("the exported program finds an output that is not written wrong") {
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

TEST_CASE("an exported launcher raises a kernel's shared memory only, where a plan launches it twice") {
  SourceTree tree = toy_tree();
  // The same again with less shared memory.
  replace(
      tree["toy/plain/family.json"], R"json("programmatic": "pdl",)json",
      R"json("programmatic": "pdl", "dynamic_smem": "100000", "arguments": ["x_map", "x_scale", "sums", "y", "R * N"]},
    {"kernel": "toy_apply", "grid": ["ceil_div(N, threads)", "R", "1"], "block": ["threads", "1", "1"], "dynamic_smem": "60000",)json");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  const CommandResult result = program.run();  // Its timing calls the launcher again.
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(lines_with(result.output, "attribute 8 of toy_apply") == "attribute 8 of toy_apply_N64 is 100000\n");
}

TEST_CASE("the exported program finds nothing right where the reference is not finite") {
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
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 0);
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
    const CommandResult result = program.run(shape);
    INFO(result.output);
    CHECK(result.exit_code == 0);
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
  const CommandResult result = program.run("1,64 check");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(lines_with(result.output, "probe") ==
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
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const SourceTree tree = load_tree(std::filesystem::path(EVO_SOURCE_DIR) / "templates");
  const ExportRequest request = export_request(tree, "fp8_sdpa", {"mission", "d128"},
                                               {{"tile_q", std::int64_t{16}}, {"kv_split", std::int64_t{2}}}, 89);
  const TempFolder folder;
  write_text(folder / "best.cu", export_cuda(request));
  const CommandResult result = run_command(fmt::format("'{}' -std=c++17 -arch=sm_89 -DEVO_MAIN '{}' -o '{}'", nvcc,
                                                       (folder / "best.cu").string(), (folder / "best").string()));
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(result.output.empty());
}

TEST_CASE("nvcc compiles an exported launcher with tensor maps and clusters, without a warning") {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  const TempFolder folder;
  write_text(folder / "best.cu", export_cuda(request));
  const CommandResult result = run_command(fmt::format("'{}' -std=c++17 -arch=sm_90a -c '{}' -o '{}'", nvcc,
                                                       (folder / "best.cu").string(), (folder / "best.o").string()));
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(result.output.empty());
}
