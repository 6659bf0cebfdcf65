#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/vgpu/conformance/warp_kernel.h"
#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {

/// Words of all lanes, lane after lane.
inline std::vector<std::uint32_t> run_warp(const std::string& body, int in_words, int out_words,
                                           const std::vector<std::uint32_t>& in) {
  TestGpu gpu;
  gpu.load_ptx(conformance::warp_kernel(body, in_words, out_words));
  const auto from = gpu.upload("in", in);
  const auto to = gpu.allocate("out", 32 * 4 * static_cast<std::size_t>(out_words));
  if (const auto failure = gpu.launch("k", {}, from, to)) FAIL(failure->reason);
  return gpu.download<std::uint32_t>(to, 32 * static_cast<std::size_t>(out_words));
}

}  // namespace evo::vgpu
