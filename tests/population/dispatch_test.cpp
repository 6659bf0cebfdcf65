// Files of several kernels: which one a call takes, and what can be read back.

#include <cmath>

#include "engine/task/plan_resolution.h"
#include "population/code/kernel_source.h"
#include "population/export/choice.h"
#include "population/export/read_export.h"
#include "tests/population/export_fixture.h"
#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

ExportRequest toy_request(const std::vector<std::string>& shapes, std::int64_t threads, CandidateId candidate) {
  Bindings genes = toy_genes("right");
  genes["threads"] = threads;
  ExportRequest request = export_request(toy_tree(), "toy", shapes, genes, 90);
  request.provenance.candidate = candidate;
  return request;
}

/// Kernels 0 (R 64, N 64) and 1 (R 5, N 128) of one candidate, kernel 2 (R 4 and R 3, N 64) of another.
std::vector<ExportRequest> three_kernels() {
  return {toy_request({"64,64", "wide"}, 32, 11), toy_request({"4,64", "3,64"}, 64, 22)};
}

std::string plan_of(const ExportRequest& request, const std::string& sizes, const std::string& suffix) {
  return launch_lines(
      resolve_plan(request.task, request.family, request.provenance.genome, request.provenance.target.options,
                   parse_shape(request.task, sizes), request.provenance.device.facts),
      suffix);
}

std::string top_of(const std::string& text) {
  return text.substr(0, text.find("#include"));
}

Task task_of(const std::string& parameters, const std::string& shape, const std::string& input,
             const std::string& output, const std::string& flops, const std::string& bytes) {
  SourceTree tree = toy_tree();
  tree["gemm/reference.cu"] = "extern \"C\" __global__ void gemm_reference() {}\n";
  tree["gemm/task.json"] = fmt::format(
      R"({{"summary": "s", "shape_parameters": [{}], "specialised": [], "options": {{}},
      "inputs": [{{"name": "a", "dtype": "f32", "dims": [{}]}}], "outputs": [{{"name": "c", "dtype": "f32", "dims": [{}]}}],
      "shapes": {{"one": {}}}, "sets": {{}}, "seeds": 1, "regimes": {{"normal": {{"distribution": "normal"}}}},
      "limits": {{"relative_l2": 0.1, "cosine": 0.9}}, "floor": {{"flops": "{}", "bytes": "{}", "math": "f32"}},
      "reference": {{"kernel": "gemm_reference", "grid": ["1", "1", "1"], "block": ["1", "1", "1"], "arguments": []}}}})",
      parameters, input, output, shape, flops, bytes);
  return load_task(tree, "gemm");
}

}  // namespace

TEST_CASE("a file of several kernels runs the kernel of the nearest measured shape") {
  const std::vector<ExportRequest> requests = three_kernels();
  const ToyProgram program(export_dispatch(requests));

  // Without arguments: every measured shape, smallest first, each correct and printed with its claim.
  const std::string all = program.run_successfully("check");
  CHECK(lines_with(all, "toy ") ==
        "toy R=3 N=64 kernel 2 on Fake GPU\ntoy R=4 N=64 kernel 2 on Fake GPU\n"
        "toy R=5 N=128 kernel 1 on Fake GPU\ntoy R=64 N=64 kernel 0 on Fake GPU\n");
  std::string launches;  // Two calls of each, the second one of views.
  for (const std::string& one : {plan_of(requests[1], "3,64", "k2_N64"), plan_of(requests[1], "4,64", "k2_N64"),
                                 plan_of(requests[0], "5,128", "k1_N128"), plan_of(requests[0], "64,64", "k0_N64")})
    launches += one + one;
  CHECK(lines_with(all, "launch") == launches);
  CHECK_THAT(program.run("4,64").output, ContainsSubstring("claimed      8.91 us (R=4,N=64, Test GPU)"));

  // R 16 is as far from 4 as from 64, and the smaller wins. Constants must match whatever the distance.
  const auto kernel_of = [&](const std::string& sizes) {
    const std::string result = program.run_successfully(sizes + " check");
    const std::size_t at = result.find(" kernel ");
    return at == std::string::npos ? std::string() : result.substr(at + 8, 1);
  };
  CHECK(kernel_of("16,64") == "2");
  CHECK(kernel_of("17,64") == "0");
  CHECK(kernel_of("1,64") == "2");
  CHECK(kernel_of("3000,64") == "0");
  CHECK(kernel_of("64,128") == "1");
  CHECK(program.run("64,65").exit_code == 2);
}

TEST_CASE("the top of a file of several kernels gives the shapes and the latency of each") {
  const std::string top = top_of(export_dispatch(three_kernels()));
  CHECK_THAT(top, ContainsSubstring("3 kernels"));
  CHECK_THAT(top, ContainsSubstring("of the shapes below of its N") && ContainsSubstring("distance in log(R);"));
  CHECK_THAT(top, ContainsSubstring("kernel 1: candidate 11 of run 3"));
  CHECK_THAT(top, ContainsSubstring("kernel 2: candidate 22 of run 3"));
  CHECK_THAT(top, ContainsSubstring("threads=64"));
  CHECK_THAT(top, ContainsSubstring("R=64 N=64                        8.91 us [8.90, 8.95]"));
  CHECK_THAT(top, ContainsSubstring("evo verify FILE.cu"));
}

TEST_CASE("the top of a file of several kernels says where they do not hold") {
  std::vector<ExportRequest> requests = three_kernels();
  for (ExportRequest& request : requests) request.files["toy/cautions.json"] = R"({"latency": ["Sizes above 9 err."]})";
  CHECK_THAT(top_of(export_dispatch(requests)), ContainsSubstring("//   CAUTION    Sizes above 9 err.\n"));
}

TEST_CASE("every kernel of a file is read back with its own claim and sources") {
  const std::vector<ExportRequest> requests = three_kernels();
  const std::vector<Exported> kernels = read_exports(export_dispatch(requests), "best.cu");
  REQUIRE(kernels.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK_FALSE(kernels[i].edited);
    CHECK(kernels[i].provenance.genome == requests[i].provenance.genome);
    CHECK(kernels[i].provenance.candidate == requests[i].provenance.candidate);
    CHECK(kernels[i].provenance.target.timed.size() == 2);
    CHECK(load_families(kernels[i].tree, load_task(kernels[i].tree, "toy")).size() == 1);
    REQUIRE(kernels[i].programs.size() == requests[i].programs.size());
    for (std::size_t p = 0; p < kernels[i].programs.size(); ++p)
      CHECK(kernels[i].programs[p].source == source_in_export(requests[i], p));
  }
}

TEST_CASE("a spoiled kernel of several is distinguished from the others") {
  std::string text = export_dispatch(three_kernels());
  const std::size_t second = text.find(begin_marker(2));
  const std::size_t at = text.find("sums[row] +=", second);
  REQUIRE(at != std::string::npos);
  text.replace(at, 12, "sums[row] -=");
  const std::vector<Exported> kernels = read_exports(text, "best.cu");
  CHECK_FALSE(kernels[0].edited);
  CHECK(kernels[1].edited);
}

TEST_CASE("kernels that cannot share a launcher are refused") {
  CHECK_THAT(error_of([] { export_dispatch({}); }), ContainsSubstring("no kernel was given"));
  const ExportRequest one = toy_request({"narrow"}, 32, 11);
  CHECK_THAT(error_of([&] {
               export_dispatch({one, toy_request({"70,64"}, 64, 22)});
             }),
             ContainsSubstring("shape narrow has two kernels, of candidates 11 and 22"));
  ExportRequest other = toy_request({"wide"}, 64, 22);
  other.provenance.device.name = "Other GPU";
  CHECK_THAT(error_of([&] {
               export_dispatch({one, other});
             }),
             ContainsSubstring("candidates 11 and 22 cannot share a launcher"));
}

TEST_CASE("an export restricted to some shapes claims the latency of these alone") {
  ExportRequest request = toy_request({"narrow", "wide", "16,64"}, 32, 11);
  request.provenance.timings[0].median_us = 4;
  request.provenance.timings[2].median_us = 9;
  const ExportRequest narrow = restricted(request, {"narrow", "R=16,N=64"});
  CHECK(narrow.provenance.target.timed.size() == 2);
  CHECK(std::abs(narrow.provenance.latency_us - 6) < 1e-9);
  CHECK(narrow.provenance.objective == "latency narrow R=16,N=64 out=f32");
  CHECK(narrow.programs.size() == 1);
  CHECK(narrow.references.size() == 1);
  for (const Shape& shape : narrow.provenance.target.validated)
    CHECK(shape.parameters.at("N") == Value(std::int64_t{64}));
  CHECK(restricted(request, {"narrow", "wide", "R=16,N=64"}).provenance.latency_us == request.provenance.latency_us);
  CHECK_THAT(error_of([&] { restricted(request, {"absent"}); }), ContainsSubstring("no timed shape"));
}

TEST_CASE("parameters of which only the product matters are grouped when shapes are compared") {
  const SourceTree tree = load_tree(std::filesystem::path(EVO_SOURCE_DIR) / "templates");
  const Task attention = load_task(tree, "fp8_sdpa");
  using Groups = std::vector<std::vector<std::string>>;
  CHECK(size_groups(attention, attention.default_options()) == Groups{{"B", "H"}, {"S"}});
  const Task gemm = task_of(R"("M", "N", "K")", R"({"M": 1, "N": 1, "K": 1})", R"("M", "K")", R"("M", "N")",
                            "2 * M * N * K", "4 * (M * K + M * N)");
  CHECK(size_groups(gemm, {}) == Groups{{"M"}, {"N"}, {"K"}});
  const Task add = task_of(R"("A", "B")", R"({"A": 1, "B": 1})", R"("A", "B")", R"("A * B")", "A * B", "8 * A * B");
  CHECK(size_groups(add, {}) == Groups{{"A", "B"}});
}

TEST_CASE("attention kernels of two shapes share a file that nvcc compiles without a warning", "[long]") {
  const SourceTree tree = load_tree(std::filesystem::path(EVO_SOURCE_DIR) / "templates");
  const auto request = [&](const std::string& shape, std::int64_t tile_q, std::int64_t kv_split) {
    return export_request(tree, "fp8_sdpa", {shape}, {{"tile_q", tile_q}, {"kv_split", kv_split}}, 89);
  };
  const std::string text = export_dispatch({request("small", 16, 1), request("mission", 32, 2)});
  CHECK_THAT(text, ContainsSubstring("distance in log(B * H) and log(S);"));
  CHECK_THAT(text, ContainsSubstring("int evo_fp8_sdpa_kernel(int B, int H, int S, int D"));
  REQUIRE(read_exports(text, "best.cu").size() == 2);
  check_nvcc_compiles(text, "-arch=sm_89 -DEVO_MAIN -c");
}
