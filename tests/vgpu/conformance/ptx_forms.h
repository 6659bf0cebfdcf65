#pragma once

#include <string>
#include <string_view>
#include <vector>

/// tests/data/ptx_forms.txt and ptx_forms_blackwell.txt: the instructions of the PTX ISA, form by form.
namespace evo::conformance {

struct PtxForm {
  std::string text;
  std::string arch = "sm_80";  ///< The oldest that has it.
  int line = 0;                ///< Of the file.
};

std::vector<PtxForm> ptx_forms(const std::string& file = "ptx_forms.txt");

/// A module whose kernels k0, k1, ... each hold one of the forms. They are to be loaded, not to be run.
std::string module_of(const std::vector<PtxForm>& forms, std::string_view arch);

}  // namespace evo::conformance
