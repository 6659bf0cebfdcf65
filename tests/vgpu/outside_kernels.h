#pragma once

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <variant>

#include "engine/base/error.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/compile/toolkit_headers.h"
#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {

/// A file of kernels, compiled with the CUDA toolkit's headers.
class Outside : public TestGpu {
 public:
  explicit Outside(const std::string& name, Simd simd = best_simd()) : TestGpu(simd) {
    std::ifstream in(std::string(EVO_SOURCE_DIR "/tests/vgpu/kernels/") + name);
    std::ostringstream text;
    text << in.rdbuf();
    REQUIRE(!text.str().empty());
    evo::SourceRequest request;
    request.source = text.str();
    request.name = name;
    std::unique_ptr<evo::Compiler> compiler;
    try {
      compiler = evo::make_nvrtc_compiler();
    } catch (const evo::Error& error) {
      SKIP("no NVRTC on this machine: " << error.what());
    }
    const auto environment = evo::NvrtcEnvironment::of_process();
    if (evo::toolkit_include_folders(environment, evo::load_nvrtc(environment).path).empty())
      SKIP("the CUDA Toolkit's headers are not on this machine");
    auto compiled = compiler->compile(request);
    if (const auto* failure = std::get_if<evo::Failure>(&compiled)) FAIL(failure->reason << "\n" << failure->log);
    load_ptx(std::get<evo::Binary>(compiled).ptx);
  }

  template <class... Arguments>
  void run(std::string_view kernel, const Geometry& geometry, Arguments... arguments) {
    const auto failure = launch(kernel, geometry, arguments...);
    if (failure) FAIL(failure->reason);
  }
};

}  // namespace evo::vgpu
