#pragma once

#include <string>

#include "tests/population/export_fixture.h"
#include "tests/population/fixture.h"

namespace evo::test {

/// Genes of the toy task of tests/population/exported; `apply` is "right" or "forgets_scale".
Bindings toy_genes(const std::string& apply);

/// The text of an exported file whose kernels the runtime on the CPU (exported/fake_cudart.cpp) can run. It prints
/// their names without the hash of the content.
std::string for_fake_cuda(const std::string& text);

/// The hash of its content that an exported file's names carry.
std::string content_of(const std::string& text);

/// The text without that hash.
std::string without_content(const std::string& text);

/// The command that compiles C++ and exported files with the host's compiler; files follow. Skips the test where there
/// are no CUDA headers.
std::string fake_compiler();

/// The program of an exported toy, without the hash of its content, linked with the runtime on the CPU. Skips the
/// test where there are no CUDA headers.
class ToyProgram {
 public:
  explicit ToyProgram(const std::string& text, const std::string& flags = "-DEVO_MAIN");
  CommandResult run(const std::string& arguments = "") const;
  /// Runs it, checks that it exits with 0, and returns its output.
  std::string run_successfully(const std::string& arguments = "") const;

 private:
  TempFolder folder_;
};

/// Checks that nvcc compiles the text of an exported file with these flags, without a warning. Skips the test where
/// there is no nvcc.
void check_nvcc_compiles(const std::string& text, const std::string& flags);

/// A plan's launches as the runtime on the CPU prints them.
std::string launch_lines(const Plan& plan, const std::string& suffix);

/// The lines that begin with `start`, each with its newline.
std::string lines_with(const std::string& text, const std::string& start);

}  // namespace evo::test
