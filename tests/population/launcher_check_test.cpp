// The program with which evo verify calls the launcher of an exported file, on the CPU and, where there is one, by
// nvcc.

#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

ExportRequest checked_request() {
  return export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
}

/// What the program says of an exported file at one shape.
CommandResult checked(const std::string& file, const std::string& shape) {
  const TempFolder folder;
  write_text(folder / "kernel.cu", for_fake_cuda(file));
  // nvcc includes that by itself.
  const std::string check = "#include <device_launch_parameters.h>\n" + launcher_check({checked_request()}, "my_toy");
  write_text(folder / "check.cu", for_fake_cuda(check));
  const CommandResult built = run_command(
      fmt::format("cd '{}' && {} kernel.cu check.cu '{}/tests/population/exported/fake_cudart.cpp' -o check",
                  folder.path().string(), fake_compiler(), EVO_SOURCE_DIR));
  if (built.exit_code != 0) return built;
  return run_command(fmt::format("'{}' {} check", (folder / "check").string(), shape));
}

std::string changed(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("a launcher is called from outside and compared with the reference of the request", "[long]") {
  const std::string file = export_cuda(checked_request(), "my_toy");
  for (const std::string shape : {"70,64", "R=5,N=128"}) {
    const CommandResult right = checked(file, shape);
    INFO(right.output);
    CHECK(right.exit_code == 0);
    CHECK_THAT(right.output, ContainsSubstring("calls that must be refused: right"));
  }
  // The file's own reference and program do not count.
  const CommandResult wrong = checked(changed(file, "code * scale + sum", "code * scale - sum"), "70,64");
  INFO(wrong.output);
  CHECK(wrong.exit_code == 1);
  CHECK_THAT(wrong.output, ContainsSubstring("WRONG"));
  const CommandResult permissive =
      checked(changed(file, "y}, 16)) return cudaErrorInvalidValue", "y}, 16)) return cudaSuccess"), "70,64");
  CHECK(permissive.exit_code == 1);
  CHECK_THAT(permissive.output, ContainsSubstring("WRONG, accepted x = null"));
}

TEST_CASE("a launcher with other parameters than the task's does not link with its check") {
  const CommandResult other = checked(changed(export_cuda(checked_request(), "my_toy"),
                                              "cudaError_t my_toy(const void* x,", "cudaError_t my_toy(void* x,"),
                                      "70,64");
  CHECK(other.exit_code != 0);
  CHECK_THAT(other.output, ContainsSubstring("undefined reference to `my_toy("));
}

TEST_CASE("nvcc builds an exported file and the program that checks its launcher, without a warning", "[long]") {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const TempFolder folder;
  write_text(folder / "kernel.cu", export_cuda(checked_request(), "my_toy"));
  write_text(folder / "check.cu", launcher_check({checked_request()}, "my_toy"));
  const CommandResult built = run_command(
      fmt::format("cd '{}' && '{}' -std=c++17 -arch=sm_90a kernel.cu check.cu -o check", folder.path().string(), nvcc));
  CHECK(built.exit_code == 0);
  CHECK(built.output.empty());
}
