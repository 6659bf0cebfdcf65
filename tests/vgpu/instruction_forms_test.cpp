#include "tests/vgpu/instruction_forms.h"

#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "evaluator/vgpu/load_error.h"
#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/recorded_conformance.h"

namespace evo::vgpu {
namespace {

using conformance::InstructionForm;

/// PTX promises no bits here: the interpreter's last ones are others than the hardware's.
const std::set<std::string> kApproximate{"rcp.approx.ftz.f64 d64, a64;", "rsqrt.approx.ftz.f64 d64, a64;",
                                         "rsqrt.approx.f64 d64, a64;",
                                         // Differs for an offset of -2^31 only.
                                         "fns.b32 d32, a32, b32, c32;"};

/// Results of 64 bits, packed as they are recorded.
std::vector<std::uint32_t> packed(const std::vector<std::uint32_t>& words, int bits) {
  if (bits == 64) return words;
  std::vector<std::uint32_t> result;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (bits == 32 || i % 4 == 0) result.push_back(words[i]);
    else result.back() |= words[i] << 16;
  }
  return result;
}

TEST_CASE("instruction forms give an H200's bits on edge values and random ones") {
  const auto recorded = recorded_conformance("forms.bin");
  int compared = 0;
  std::string refused;
  for (const InstructionForm& form : conformance::instruction_forms()) {
    if (kApproximate.contains(form.snippet)) continue;
    const conformance::Case test = conformance::case_of(form);
    TestGpu gpu;
    try {
      gpu.load_ptx(test.ptx);
    } catch (const LoadError&) {
      refused += form.snippet + "\n";
      continue;
    }
    const std::uint64_t in = gpu.upload("in", test.in);
    const std::uint64_t out = gpu.allocate("out", test.out_words * 4);
    const auto failure = gpu.launch("k", {{test.blocks, 1, 1}, {test.threads, 1, 1}}, in, out);
    if (failure) FAIL(test.name << ": " << failure->reason);
    const auto words = packed(gpu.download<std::uint32_t>(out, test.out_words), form.result_bits);
    const std::string difference = difference_of(words, recorded.at(conformance::seed_of(test.name)));
    if (!difference.empty()) FAIL_CHECK(test.name << " " << difference);
    ++compared;
  }
  INFO("not interpreted:\n" << refused);
  CHECK(refused.empty());
  CHECK(compared > 1100);
}

TEST_CASE("a double's approximate reciprocal root is within two units of an H200's last place") {
  const auto recorded = recorded_conformance("forms.bin");
  for (const InstructionForm& form : conformance::instruction_forms()) {
    if (form.snippet != "rsqrt.approx.f64 d64, a64;") continue;
    const conformance::Case test = conformance::case_of(form);
    TestGpu gpu;
    gpu.load_ptx(test.ptx);
    const std::uint64_t in = gpu.upload("in", test.in), out = gpu.allocate("out", test.out_words * 4);
    REQUIRE_FALSE(gpu.launch("k", {{test.blocks, 1, 1}, {test.threads, 1, 1}}, in, out));
    const auto got = gpu.download<std::uint64_t>(out, test.out_words / 2);
    const RecordedCase& expected = recorded.at(conformance::seed_of(test.name));
    REQUIRE(expected.kept.size() > 4);
    for (std::size_t i = 0; i < expected.kept.size(); ++i) {
      const std::uint64_t ours = got[i * expected.step], theirs = expected.kept[i];
      INFO("operand " << test.in[i * expected.step * 6] << ": " << ours << " " << theirs);
      CHECK((ours > theirs ? ours - theirs : theirs - ours) <= 2);
    }
    return;
  }
  FAIL("the form is not recorded");
}

}  // namespace
}  // namespace evo::vgpu
