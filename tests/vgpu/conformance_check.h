#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/recorded_case.h"
#include "tests/vgpu/recorded_conformance.h"

namespace evo::vgpu {

inline std::vector<std::uint32_t> outputs_of(const conformance::Case& test) {
  TestGpu gpu;
  gpu.load_ptx(test.ptx);
  const std::uint64_t in = gpu.upload("in", test.in);
  const std::uint64_t out = gpu.allocate("out", test.out_words * 4);
  const auto failure = gpu.launch("k", {{test.blocks, 1, 1}, {test.threads, 1, 1}, 0, {test.cluster, 1, 1}}, in, out);
  if (failure) FAIL(test.name << ": " << failure->reason);
  return gpu.download<std::uint32_t>(out, test.out_words);
}

/// Every recorded case of `file` is one of `cases` and gives the recorded bits.
inline void check_cases(const std::vector<conformance::Case>& cases, const std::string& file) {
  const RecordedCases recorded = recorded_conformance(file);
  int compared = 0;
  for (const conformance::Case& test : cases) {
    const auto found = recorded.find(conformance::seed_of(test.name));
    if (found == recorded.end()) continue;
    ++compared;
    const std::string difference = difference_of(outputs_of(test), found->second);
    if (!difference.empty()) FAIL_CHECK(test.name << ": " << difference);
  }
  CHECK(compared == static_cast<int>(recorded.size()));
}

}  // namespace evo::vgpu
