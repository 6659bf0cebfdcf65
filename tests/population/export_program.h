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

 private:
  TempFolder folder_;
};

/// A plan's launches as the runtime on the CPU tells them.
std::string launch_lines(const Plan& plan, const std::string& suffix);

/// The lines that start so, each with its end.
std::string lines_with(const std::string& text, const std::string& start);

}  // namespace evo::test
