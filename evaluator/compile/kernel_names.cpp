#include "evaluator/compile/kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/base/demangled.h"
#include "engine/base/text.h"

namespace evo {
namespace {

std::string_view without_arguments(std::string_view name) {
  return name.substr(0, name.find('<'));
}

}  // namespace

std::string list_of_kernels(std::span<const std::string> ptx_names) {
  std::vector<std::string> names;
  for (const std::string& name : ptx_names) names.push_back(readable_kernel_name(name));
  return list_of(names);
}

std::variant<std::string, NoSuchKernel> find_kernel(std::span<const std::string> kernels, const std::string& wanted) {
  if (std::ranges::find(kernels, wanted) != kernels.end()) return wanted;
  std::vector<std::string> same, nested;
  bool is_template = false;
  for (const std::string& kernel : kernels) {
    const std::string name = readable_kernel_name(kernel);
    if (name == wanted) same.push_back(kernel);
    if (name.ends_with("::" + wanted)) nested.push_back(kernel);
    is_template = is_template || (name != wanted && without_arguments(name) == wanted);
  }
  const std::vector<std::string>& matches = same.empty() ? nested : same;
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) {
    return NoSuchKernel{fmt::format("the program has no kernel {}; there are: {}{}", wanted, list_of_kernels(kernels),
                                    is_template ? " (a template needs its arguments)" : "")};
  }
  std::vector<std::string> signatures;
  for (const std::string& match : matches) signatures.push_back(demangled(match));
  return NoSuchKernel{fmt::format("several kernels are called {}: {}", wanted, list_of(signatures))};
}

}  // namespace evo
