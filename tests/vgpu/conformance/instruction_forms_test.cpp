#include "tests/vgpu/conformance/instruction_forms.h"

#include "tests/vgpu/conformance/conformance_check.h"
#include "tests/vgpu/conformance/listed_forms.h"

namespace evo::vgpu {
namespace {

using conformance::InstructionForm;

/// Results of 64 bits, packed as they are recorded.
std::vector<std::uint32_t> packed(const std::vector<std::uint32_t>& words, int bits) {
  if (bits == 64) return words;
  std::vector<std::uint32_t> result;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (bits == 32 || i % 4 == 0)
      result.push_back(words[i]);
    else
      result.back() |= words[i] << 16;
  }
  return result;
}

void check_forms(const std::vector<InstructionForm>& forms, const std::string& file) {
  const RecordedCases recorded = recorded_conformance(file);
  for (const InstructionForm& form : forms) {
    const conformance::Case test = conformance::case_of(form);
    const RunCase run = run_case(test);
    if (run.failure) FAIL(test.name << ": " << run.failure->reason);
    const auto found = recorded.find(conformance::seed_of(test.name));
    if (found == recorded.end()) FAIL(test.name << " is not recorded");
    const std::string difference = difference_of(packed(run.words, form.result_bits), found->second);
    if (!difference.empty()) FAIL_CHECK(test.name << " " << difference);
  }
  CHECK(forms.size() == recorded.size());
}

TEST_CASE("instruction forms give an H200's bits on edge values and random ones") {
  check_forms(conformance::instruction_forms(), "forms.bin");
}

TEST_CASE("every other listed form whose result follows from registers gives an H200's bits") {
  check_forms(conformance::listed_forms(), "listed.bin");
}

}  // namespace
}  // namespace evo::vgpu
