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
std::string refusal_of(const PtxForm& form) {
  TestGpu gpu;
  try {
    gpu.load_ptx(conformance::module_of({form}, "sm_90a"));
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

TEST_CASE("ptxas accepts every form for the architecture that it is listed with") {
  if (ptxas().empty()) SKIP("no ptxas on this machine");
  std::map<std::string, std::vector<PtxForm>> by_arch;
  for (const PtxForm& form : conformance::ptx_forms())
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

}  // namespace
}  // namespace evo::vgpu
