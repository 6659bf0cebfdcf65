// CUDA programs as they are, on the virtual GPU: those of tests/data/programs. nvcc compiles each once; without nvcc
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

const fs::path kPrograms = EVO_SOURCE_DIR "/tests/data/programs";

std::string nvcc() {
  for (const char* path : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"})
    if (fs::exists(path)) return path;
  return "";
}

/// The program, compiled if it is missing or older than its source.
std::string compiled(const std::string& name, const std::string& options, const std::string& file = "twenty.cu") {
  const fs::path source = kPrograms / file;
  if (nvcc().empty()) SKIP("no nvcc: programs cannot be compiled here");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("a library with a sanitizer cannot be put in front of a program without it");
#endif
  const fs::path program = fs::path(EVO_TEST_KEPT) / name;
  fs::create_directories(program.parent_path());
  if (!fs::exists(program) || fs::last_write_time(program) < fs::last_write_time(source)) {
    const std::string unfinished = program.string() + "." + std::to_string(::getpid());
    REQUIRE(std::system((nvcc() + " -std=c++17 " + options + " -o " + unfinished + " " + source.string()).c_str()) ==
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

std::string textures() {
  return compiled("textures", "-lineinfo -gencode arch=compute_80,code=compute_80", "textures.cu");
}

Outcome run_process(const std::string& name) {
  return run_evo({"vgpu", "--json", "--program", compiled("processes", "-arch=sm_80", "processes.cu"), name});
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

TEST_CASE("a stripped program is refused, and told how to link it", "[long]") {
  const Outcome outcome = run_evo({"vgpu", "--program", compiled("twenty_stripped", "-Xlinker -s -arch=sm_80")});
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("link it with -cudart shared") && ContainsSubstring("not offered: cuGet"));
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

TEST_CASE("all processes and threads of a program count together") {
  const Outcome children = run_process("children");
  INFO(children.err);
  CHECK(children.code == 0);
  CHECK(nlohmann::json::parse(children.out)["launches"][0]["count"] == 9);
  const Outcome threads = run_process("threads");
  CHECK(threads.code == 0);
  CHECK(nlohmann::json::parse(threads.out)["launches"][0]["count"] == 12);
}

TEST_CASE("a process that is forked from one that uses the GPU is refused, as on a GPU") {
  const Outcome outcome = run_process("child_too_late");
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(nlohmann::json::parse(outcome.out)["launches"][0]["count"] == 6);
}

TEST_CASE("memory pools count what is taken from them, and keep their limits") {
  const Outcome outcome = run_process("pools");
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(nlohmann::json::parse(outcome.out)["not_offered"].empty());
}

TEST_CASE("what a program did until it crashed or left is told") {
  for (const auto& [name, code] : {std::pair{"aborts", 134}, std::pair{"leaves", 7}}) {
    const Outcome outcome = run_process(name);
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK(nlohmann::json::parse(outcome.out)["launches"][0]["count"] == 3);
  }
}

TEST_CASE("programs with textures and surfaces of every shape pass on the virtual GPU, and nothing is found in them") {
  for (const char* command : {"vgpu", "sanitize"}) {
    const Outcome outcome = run_evo({command, "--program", textures()});
    INFO(command << ": " << outcome.out << outcome.err);
    CHECK(outcome.code == 0);
    for (const char* name : {"linear_memory", "outside_linear_memory", "filtering_1d", "filtering_2d", "pitched_memory",
                             "volume", "layers", "cubes", "read_modes", "gather", "surfaces_2d",
                             "surfaces_of_all_shapes", "copies", "driver", "errors"})
      CHECK_THAT(outcome.out, ContainsSubstring(std::string(name) + ": passed\n"));
  }
}

TEST_CASE("a write beyond a surface, and a texture that was destroyed, are told with their place") {
  const Outcome outside = run_evo({"vgpu", "--program", textures(), "surface_outside"});
  CHECK(outside.code == 1);
  CHECK_THAT(outside.out, ContainsSubstring("cudaErrorLaunchFailure"));
  CHECK_THAT(outside.err, ContainsSubstring("thread (20, 0, 0): sust.b.1d.b32.trap: writes 4 bytes at byte 80, outside "
                                            "of a surface of 20 x 1 x 1 texels"));
  const Outcome destroyed = run_evo({"vgpu", "--program", textures(), "destroyed_texture"});
  CHECK(destroyed.code == 1);
  CHECK_THAT(destroyed.err, ContainsSubstring("is no texture object"));
}

TEST_CASE("evo sanitize finds a fetch of what its kernel writes by a surface, and of what nobody has written") {
  for (const auto& [name, kind] :
       {std::pair{"stale_texture", "stale"}, std::pair{"unwritten_texture", "uninitialised"}}) {
    const Outcome outcome = run_evo({"sanitize", "--json", "--program", textures(), name});
    INFO(name << ": " << outcome.out);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.out, ContainsSubstring(kind));
  }
}
