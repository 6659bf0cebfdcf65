#include "engine/result/build.h"

#include <algorithm>
#include <tuple>

namespace evo {
namespace {

/// Of each field the larger value; of warnings one that there is.
void take_largest(KernelBuild& into, const KernelBuild& other) {
  std::apply(
      [&](const auto&... fields) {
        ((into.*fields.member = std::max(into.*fields.member, other.*fields.member)), ...);
      },
      kFields<KernelBuild>);
}

}  // namespace

const KernelBuild& Build::kernel(const std::string& called) const {
  static const KernelBuild kUnknown;
  auto found = kernels.find(ptx_name(called));
  if (found == kernels.end()) found = kernels.find("");
  return found == kernels.end() ? kUnknown : found->second;
}

const std::string& Build::called(const std::string& ptx_name) const {
  for (const auto& [name, its_ptx_name] : kernel_names)
    if (its_ptx_name == ptx_name) return name;
  return ptx_name;
}

KernelBuild Build::largest() const {
  KernelBuild largest;
  for (const auto& [name, kernel] : kernels)
    if (kernel.launched) take_largest(largest, kernel);
  return largest;
}

KernelBuild largest_of(const std::vector<Build>& builds) {
  KernelBuild largest;
  for (const Build& build : builds) take_largest(largest, build.largest());
  return largest;
}

}  // namespace evo
