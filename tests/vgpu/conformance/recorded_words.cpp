#include "tests/vgpu/conformance/recorded_words.h"

#include <cctype>

#include "tests/vgpu/conformance/conformance_check.h"
#include "tests/vgpu/conformance/listed_forms.h"
#include "tests/vgpu/conformance/matrix_cases.h"
#include "tests/vgpu/conformance/tensor_cases.h"
#include "tests/vgpu/conformance/warp_cases.h"
#include "tests/vgpu/conformance/wgmma_cases.h"

namespace evo::vgpu {
namespace {

using conformance::Case;

/// Every word of the PTX of the cases that are recorded in `file`.
void add_words(std::set<std::string>& words, const std::vector<Case>& cases, const std::string& file) {
  const RecordedCases recorded = recorded_conformance(file);
  for (const Case& test : cases) {
    if (!recorded.contains(conformance::seed_of(test.name))) continue;
    std::string word;
    for (const char c : test.ptx) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == ':') {
        word += c;
      } else {
        words.insert(word);
        word.clear();
      }
    }
  }
}

}  // namespace

std::set<std::string> recorded_words() {
  std::set<std::string> words;
  const auto add_forms = [&](const std::vector<conformance::InstructionForm>& forms, const std::string& file) {
    std::vector<Case> cases;
    for (const conformance::InstructionForm& form : forms) cases.push_back(conformance::case_of(form));
    add_words(words, cases, file);
  };
  add_forms(conformance::instruction_forms(), "forms.bin");
  add_forms(conformance::listed_forms(), "listed.bin");
  add_words(words, conformance::matrix_cases(), "matrices.bin");
  add_words(words, conformance::warp_cases(), "warps.bin");
  add_words(words, conformance::numerics_cases(), "products.bin");
  add_words(words, conformance::layout_cases(), "layouts.bin");
  std::vector<Case> tensors;
  for (const conformance::TensorCase& each : conformance::tensor_cases()) tensors.push_back(each.test);
  add_words(words, tensors, "tensors.bin");
  return words;
}

const std::map<std::string, std::string> kNotCompared{
    {"alloca", "addresses of a stack with another layout"},
    {"stacksave", "addresses of a stack with another layout"},
    {"stackrestore", "addresses of a stack with another layout"},
    {"applypriority", "a hint for caches"},
    {"createpolicy", "a hint for caches; the bits of the policy are not specified"},
    {"discard", "the content of the memory is undefined afterwards"},
    {"prefetch", "a hint for caches"},
    {"prefetchu", "a hint for caches"},
    {"brkpt", "stops"},
    {"trap", "stops"},
    {"griddepcontrol", "orders kernels"},
    {"membar", "orders accesses"},
    {"nanosleep", "takes time"},
    {"pmevent", "counts events"},
    {"setmaxnreg", "the number of registers is not visible"},
    {"ldu", "ld of memory that is not written"},
    {"tensormap", "changes maps, whose bytes differ from the driver's"},
    {"{", "jumps and calls"},
    {"tex", "the recorder makes no textures"},
    {"tld4", "the recorder makes no textures"},
    {"txq", "the recorder makes no textures"},
    {"istypep", "the recorder makes no textures"},
    {"suld", "the recorder makes no surfaces"},
    {"sust", "the recorder makes no surfaces"},
    {"sured", "the recorder makes no surfaces"},
    {"suq", "the recorder makes no surfaces"},
};

}  // namespace evo::vgpu
