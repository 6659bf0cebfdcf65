#include "engine/base/demangled.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace evo {

std::string demangled(std::string_view name) {
  std::string result(name);
  if (!name.starts_with("_Z")) return result;  // Of extern "C"; "f" would be a float.
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(result.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  if (status == 0 && text != nullptr) result = text.get();
  return result;
}

std::string readable_kernel_name(std::string_view ptx_name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  const std::string name = demangled(ptx_name);
  if (name == ptx_name) return name;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (depth != 0) continue;
    if (name.compare(i, kUnnamed.size(), kUnnamed) == 0) {
      i += kUnnamed.size() - 1;
    } else if (name[i] == ' ') {
      begin = i + 1;  // A template's name begins with its result type: "void reduce<float>(...)".
    } else if (name[i] == '(') {
      return name.substr(begin, i - begin);
    }
  }
  return name;
}

std::string bare_kernel_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<'));
  const std::size_t colons = kernel.rfind("::");
  return std::string(colons == std::string_view::npos ? kernel : kernel.substr(colons + 2));
}

}  // namespace evo
