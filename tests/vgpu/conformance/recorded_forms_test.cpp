// Coverage of the comparison with an H200, and the forms that several threads execute together.
#include <set>

#include "tests/vgpu/conformance/conformance_check.h"
#include "tests/vgpu/conformance/matrix_cases.h"
#include "tests/vgpu/conformance/ptx_forms.h"
#include "tests/vgpu/conformance/recorded_words.h"
#include "tests/vgpu/conformance/tensor_cases.h"
#include "tests/vgpu/conformance/warp_cases.h"

namespace evo::vgpu {
namespace {

using conformance::Case;

TEST_CASE("products of a warp equal an H200's bit for bit, and lie in the same registers") {
  check_cases(conformance::matrix_cases(), "matrices.bin");
}

TEST_CASE("exchanges, atomics, copies, barriers and clusters give an H200's results") {
  check_cases(conformance::warp_cases(), "warps.bin");
}

/// An H200 reports these as illegal instructions.
bool is_refused(const conformance::TensorCase& each) {
  return each.test.name.starts_with("store before");
}

TEST_CASE("boxes of tensors lie in shared and in global memory where an H200 puts them") {
  std::vector<conformance::TensorCase> cases = conformance::tensor_cases();
  CHECK(std::erase_if(cases, is_refused) == 4);
  check_cases(cases, "tensors.bin");
}

TEST_CASE("a store of a box that begins before its tensor is refused") {
  for (const conformance::TensorCase& each : conformance::tensor_cases()) {
    if (!is_refused(each)) continue;
    const RunCase run = run_case(each);
    INFO(each.test.name);
    REQUIRE(run.failure);
    CHECK(contains(run.failure->reason, "begins before the tensor"));
  }
}

// ---- Coverage

/// Opcodes with some forms that are not compared; `what` names the feature of those.
const std::map<std::string, std::string> kInPart{
    {"mov", "types: moves of the same bits"},
    {"cvta", "spaces"},
    {"isspacep", "parameters"},
    {"mapa", "addresses in 64 bits"},
    {"getctarank", "addresses in 64 bits"},
    {"bar", "registers that name the barrier"},
    {"barrier", "registers that name the barrier"},
    {"ld", "spaces, vectors, order and caches"},
    {"st", "spaces, vectors, order and caches"},
    {"ldmatrix", "generic addresses"},
    {"stmatrix", "generic addresses"},
    {"atom", "order, scope and caches"},
    {"red", "order, scope and caches"},
    {"cp", "spaces, caches, im2col"},
    {"mbarrier", "order, scope, generic addresses"},
    {"fence", "order"},
    {"wmma", "loads and stores: spaces and strides"},
    {"wgmma", "more widths"},
};

std::string opcode_of(const std::string& name) {
  return name.substr(0, name.find('.'));
}

TEST_CASE("every listed form that computes is compared with an H200, except those named here") {
  const std::set<std::string> words = recorded_words();
  std::map<std::string, int> compared, missing;
  std::string unknown;
  for (const conformance::PtxForm& form : conformance::ptx_forms()) {
    const std::string name = form.text.substr(0, form.text.find_first_of(" ;")), opcode = opcode_of(name);
    const bool found = words.contains(name);
    ++(found ? compared : missing)[opcode];
    if (!found && !kNotCompared.contains(opcode) && !kInPart.contains(opcode)) unknown += form.text + "\n";
  }
  INFO("not compared:\n" << unknown);
  CHECK(unknown.empty());
  // Every exception that is named must still be one.
  for (const auto& [opcode, why] : kNotCompared) {
    INFO(opcode << ": " << why);
    CHECK(missing[opcode] > 0);
    CHECK(compared[opcode] == 0);
  }
  for (const auto& [opcode, what] : kInPart) {
    INFO(opcode << ": " << what);
    CHECK(missing[opcode] > 0);
    CHECK(compared[opcode] > 0);
  }
}

}  // namespace
}  // namespace evo::vgpu
