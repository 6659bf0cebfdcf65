#pragma once

#include <string>

#include "tests/population/export_fixture.h"
#include "tests/population/fixture.h"

namespace evo::test {

/// Genes of the toy task of tests/population/exported; `apply` is "right" or "forgets_scale".
Bindings toy_genes(const std::string& apply);

/// The program of an exported toy, linked with the runtime on the CPU (exported/fake_cudart.cpp). Skips the
/// test where there are no CUDA headers.
class ToyProgram {
 public:
  explicit ToyProgram(const std::string& text);
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
