#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/vgpu/conformance/recorded_case.h"
#include "tests/vgpu/conformance/recorded_conformance.h"
#include "tests/vgpu/conformance/tensor_check.h"
#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {

/// The output of a case, or why it failed.
struct RunCase {
  std::vector<std::uint32_t> words;
  std::optional<Failure> failure;
};

inline RunCase run_case(const conformance::Case& test) {
  TestGpu gpu;
  gpu.load_ptx(test.ptx);
  const std::uint64_t in = gpu.upload("in", test.in);
  const std::uint64_t out = gpu.allocate("out", test.out_words * 4);
  const auto failure = gpu.launch("k", {{test.blocks, 1, 1}, {test.threads, 1, 1}, 0, {test.cluster, 1, 1}}, in, out);
  return {gpu.download<std::uint32_t>(out, test.out_words), failure};
}

inline RunCase run_case(const conformance::TensorCase& each) {
  const conformance::Case& test = each.test;
  TestGpu gpu;
  gpu.load_ptx(test.ptx);
  const std::uint64_t in = gpu.upload("in", test.in);
  // Stores write 16 bytes at a time, also in the last row.
  const std::uint64_t out = gpu.allocate("out", (test.out_words * 4 + 15) / 16 * 16);
  const auto map = map_of(each.tensor, each.written ? out : in);
  const auto failure = gpu.launch("k", {{test.blocks, 1, 1}, {test.threads, 1, 1}}, in, out, map);
  return {gpu.download<std::uint32_t>(out, test.out_words), failure};
}

inline const std::string& name_of(const conformance::Case& test) {
  return test.name;
}
inline const std::string& name_of(const conformance::TensorCase& each) {
  return each.test.name;
}

/// Checks that each case gives the bits recorded in `file`.
template <class SomeCase>
void check_cases(const std::vector<SomeCase>& cases, const std::string& file) {
  const RecordedCases recorded = recorded_conformance(file);
  for (const SomeCase& each : cases) {
    const std::string& name = name_of(each);
    const RunCase run = run_case(each);
    if (run.failure) FAIL(name << ": " << run.failure->reason);
    const auto found = recorded.find(conformance::seed_of(name));
    if (found == recorded.end()) FAIL(name << " is not recorded");
    const std::string difference = difference_of(run.words, found->second);
    if (!difference.empty()) FAIL_CHECK(name << ": " << difference);
  }
  CHECK(cases.size() == recorded.size());
}

}  // namespace evo::vgpu
