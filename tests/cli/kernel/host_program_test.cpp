// CUDA programs as they are, on the virtual GPU: tests/data/programs/twenty.cu. nvcc compiles it once; without nvcc
// these tests are skipped.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = EVO_SOURCE_DIR "/tests/data/programs/twenty.cu";

std::string nvcc() {
  for (const char* path : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"})
    if (fs::exists(path)) return path;
  return "";
}

/// The program, compiled if it is missing or older than its source.
std::string compiled(const std::string& name, const std::string& options) {
  if (nvcc().empty()) SKIP("no nvcc: programs cannot be compiled here");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("a library with a sanitizer cannot be put in front of a program without it");
#endif
  const fs::path program = fs::path(EVO_TEST_KEPT) / name;
  fs::create_directories(program.parent_path());
  if (!fs::exists(program) || fs::last_write_time(program) < fs::last_write_time(kSource)) {
    const std::string unfinished = program.string() + "." + std::to_string(::getpid());
    REQUIRE(std::system((nvcc() + " -std=c++17 " + options + " -o " + unfinished + " " + kSource.string()).c_str()) ==
            0);
    fs::rename(unfinished, program);
  }
  return program.string();
}

std::string twenty() {
  return compiled("twenty", "-lineinfo -gencode arch=compute_90,code=compute_90 -gencode arch=compute_90,code=sm_90");
}

/// With the runtime as a library. No library of that name is needed: that of evo comes first.
std::string twenty_shared() {
  return compiled("twenty_shared", "-cudart shared -gencode arch=compute_80,code=compute_80");
}

}  // namespace

TEST_CASE("twenty programs that nvcc has compiled pass on the virtual GPU as they are") {
  const Outcome outcome = run_evo({"vgpu", "--program", twenty()});
  INFO(outcome.out);
  CHECK(outcome.code == 0);
  for (const char* name : {"vector_add",
                           "matrix_multiply",
                           "symbols",
                           "managed_memory",
                           "mapped_memory",
                           "pitched_memory",
                           "copies_in_3d",
                           "fills",
                           "streams_and_events",
                           "captured_graph",
                           "explicit_graph",
                           "occupancy",
                           "cooperative_launch",
                           "launch_attributes",
                           "device_printf",
                           "function_attributes",
                           "allocation_in_streams",
                           "kinds_of_pointers",
                           "device_facts",
                           "refused_launches"})
    CHECK_THAT(outcome.out, ContainsSubstring(std::string(name) + ": passed\n"));
}

TEST_CASE("a program whose runtime is a library runs, too, on the model that was asked for") {
  const Outcome outcome = run_evo({"vgpu", "--device", "vgpu:a100", "--program", twenty_shared(), "device_facts"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("A100") && ContainsSubstring("compute capability 8.0"));
}

TEST_CASE("what a kernel prints appears where the program waits for it") {
  const Outcome outcome = run_evo({"vgpu", "--program", twenty(), "device_printf"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out,
             ContainsSubstring("before the wait\nthread 0 of block 0\nthread 0 of block 1\nbehind the wait\n"));
}

TEST_CASE("a program is told what a GPU would tell it after a bad access, and evo tells where it was") {
  const Outcome outcome = run_evo({"vgpu", "--program", twenty(), "illegal_address"});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.out, ContainsSubstring("an illegal memory access was encountered\nillegal_address: passed"));
  CHECK_THAT(outcome.err, ContainsSubstring("thread (4, 0, 0): ld.global.u32: reads 4 bytes") &&
                              ContainsSubstring("behind the end of 'allocation 1'"));
}

TEST_CASE("evo sanitize finds a missing barrier in a program, and nothing in a right one") {
  const Outcome wrong = run_evo({"sanitize", "--json", "--program", twenty(), "missing_barrier"});
  CHECK(wrong.code == 1);
  const auto findings = nlohmann::json::parse(wrong.out)["findings"];
  bool found = false;
  for (const auto& one : findings)
    found = found || (one["kind"] == "race" && one["brief"].get<std::string>().starts_with("missing __syncthreads"));
  CHECK(found);
  const Outcome right = run_evo({"sanitize", "--program", twenty(), "matrix_multiply"});
  CHECK(right.code == 0);
  CHECK_THAT(right.err, ContainsSubstring("no finding"));
}

TEST_CASE("a program keeps its own exit code and its own arguments") {
  const Outcome outcome = run_evo({"vgpu", "--json", "--program", twenty(), "vector_add", "--json", "--device=none"});
  CHECK(outcome.code == 0);
  const auto json = nlohmann::json::parse(outcome.out);
  CHECK(json["arguments"] == nlohmann::json({"vector_add", "--json", "--device=none"}));
  CHECK(json["launches"][0]["count"] == 1);
  CHECK(json["launches"][0]["modelled_us"] > 0.1);
  CHECK_THAT(outcome.err, ContainsSubstring("vector_add: passed"));
}

TEST_CASE("a program without PTX is refused in one line that says how to compile it") {
  const std::string program = compiled("twenty_cubin", "-gencode arch=compute_90,code=sm_90");
  const Outcome outcome = run_evo({"vgpu", "--program", program, "vector_add"});
  CHECK(outcome.code != 0);
  CHECK_THAT(outcome.err, ContainsSubstring("compile it with -gencode arch=compute_90,code=compute_90"));
}

TEST_CASE("a program that is missing, or has nothing of CUDA, is refused in one line") {
  const Outcome missing = run_evo({"vgpu", "--program", "./is-not-there"});
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("cannot run ./is-not-there: No such file or directory"));
  const Outcome other = run_evo({"vgpu", "--program", "/bin/true"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, ContainsSubstring("called no function of CUDA"));
  CHECK(run_evo({"vgpu", "k.cu", "--program", "/bin/true"}).code == 2);
  CHECK(run_evo({"vgpu"}).code == 2);
}
