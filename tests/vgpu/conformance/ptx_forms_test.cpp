#include "tests/vgpu/conformance/ptx_forms.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "evaluator/vgpu/ptx/load_error.h"
#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {
namespace {

using conformance::PtxForm;

/// Why a form does not load; empty when it does.
std::string refusal_of(const PtxForm& form, const std::string& arch = "sm_90a") {
  TestGpu gpu;
  try {
    gpu.load_ptx(conformance::module_of({form}, arch));
    gpu.module().kernel("k0");
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

/// True for kinds of arguments that evo does not support: docs/vgpu.md, "Limits".
bool needs_unsupported_argument(const PtxForm& form) {
  return form.text.find(".im2col") != std::string::npos;
}

TEST_CASE("every form of every instruction of the PTX ISA loads") {
  std::string refused;
  std::size_t loaded = 0;
  for (const PtxForm& form : conformance::ptx_forms()) {
    if (needs_unsupported_argument(form)) continue;
    const std::string why = refusal_of(form);
    why.empty() ? ++loaded : 0;
    if (!why.empty()) refused += "line " + std::to_string(form.line) + ": " + form.text + "\n  " + why + "\n";
  }
  INFO(refused);
  CHECK(refused.empty());
  CHECK(loaded > 8500);
}

TEST_CASE("every form that Blackwell adds loads, and is refused in a module for an architecture before") {
  std::string refused, accepted;
  for (const PtxForm& form : conformance::ptx_forms("ptx_forms_blackwell.txt")) {
    if (const std::string why = refusal_of(form, form.arch); !why.empty())
      refused += "line " + std::to_string(form.line) + ": " + form.text + "\n  " + why + "\n";
    if (refusal_of(form, "sm_90a").find("needs sm_1") == std::string::npos) accepted += form.text + "\n";
  }
  INFO(refused << accepted);
  CHECK(refused.empty());
  CHECK(accepted.empty());
}

TEST_CASE("what one Blackwell lacks that another has is refused there with the reason, as by ptxas") {
  const auto reason = [](const char* text, const char* arch) { return refusal_of({text}, arch); };
  const auto needs = [](const std::string& why, const char* what) { return why.find(what) != std::string::npos; };
  CHECK(needs(reason("redux.sync.min.f32 f0, f1, r2;", "sm_120a"),
              "needs sm_100a to sm_103a, the module is for sm_120a"));
  CHECK(needs(
      reason("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [map, {r0, r1, r2, r3, r4}], [sm];",
             "sm_120a"),
      "needs sm_100a to sm_110a"));
  CHECK(needs(reason("cvt.rs.f16x2.f32 r0, f1, f2, r3;", "sm_120a"), "needs sm_100a to sm_103a"));
  CHECK(needs(
      reason("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32 {f0, f1, f2, f3}, {r4, r5, r6, r7}, "
             "{r8, r9}, {f4, f5, f6, f7};",
             "sm_100a"),
      "needs sm_120a"));
  CHECK(needs(reason("wgmma.fence.sync.aligned;", "sm_120a"), "needs sm_90a"));
  CHECK(needs(reason("cvt.rn.satfinite.e2m1x2.f32 c0, f1, f2;", "sm_120"), "needs sm_100a"));
  // Plain programs of other families may use what sm_90 has.
  CHECK(reason("cp.async.bulk.commit_group;", "sm_120").empty());
}

TEST_CASE("an instruction that needs an unsupported kind of argument is refused by name") {
  for (const std::string text :
       {"multimem.ld_reduce.weak.global.add.f32 f0, [ga];", "multimem.st.weak.global.f32 [ga], f0;",
        "multimem.red.relaxed.sys.global.add.f32 [ga], f0;",
        ("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [sm], [map, {r0, r1, "
         "r2}], "
         "[bar], {h0};")}) {
    const std::string why = refusal_of({text});
    INFO(text << ": " << why);
    CHECK(why.find("unsupported instruction " + text.substr(0, text.find(' '))) != std::string::npos);
  }
}

/// The path of ptxas, where there is one.
std::filesystem::path ptxas() {
  for (const std::filesystem::path folder : {"/usr/local/cuda/bin", "/usr/local/bin", "/usr/bin", "/opt/cuda/bin"})
    if (std::filesystem::exists(folder / "ptxas")) return folder / "ptxas";
  return {};
}

void check_with_ptxas(const std::string& list) {
  if (ptxas().empty()) SKIP("no ptxas on this machine");
  std::map<std::string, std::vector<PtxForm>> by_arch;
  for (const PtxForm& form : conformance::ptx_forms(list))
    by_arch[form.arch == "sm_90" ? "sm_90a" : form.arch].push_back(form);
  REQUIRE(by_arch.size() >= 3);
  const auto folder = std::filesystem::temp_directory_path();
  for (auto& [arch, forms] : by_arch) {
    // An error at the end spares the code of thousands of kernels: only that one is expected.
    forms.push_back({"add.s32 h0, h1, h2;"});
    const auto file = folder / ("evo_forms_" + arch + ".ptx"), log = folder / ("evo_forms_" + arch + ".log");
    std::ofstream(file) << conformance::module_of(forms, arch);
    const std::string command =
        ptxas().string() + " -O0 -arch " + arch + " -o /dev/null " + file.string() + " >" + log.string() + " 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream said(log);
    std::string errors;
    int count = 0;
    for (std::string line; std::getline(said, line);)
      if (line.find("; error") != std::string::npos && ++count < 10) errors += line + "\n";
    INFO(arch << ": " << errors);
    CHECK(status != 0);
    CHECK(count == 1);
    CHECK(errors.find("Arguments mismatch for instruction 'add'") != std::string::npos);
    std::filesystem::remove(file);
    std::filesystem::remove(log);
  }
}

TEST_CASE("ptxas accepts every form for the architecture that it is listed with") {
  check_with_ptxas("ptx_forms.txt");
}
TEST_CASE("ptxas accepts every form of Blackwell for the architecture that it is listed with") {
  check_with_ptxas("ptx_forms_blackwell.txt");
}

}  // namespace
}  // namespace evo::vgpu
