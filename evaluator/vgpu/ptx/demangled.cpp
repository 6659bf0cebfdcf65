#include "evaluator/vgpu/ptx/demangled.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace evo::vgpu {

std::string demangled(std::string_view name) {
  std::string result(name);
  if (!name.starts_with("_Z")) return result;  // Of extern "C"; "f" would be a float.
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(result.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  if (status == 0 && text != nullptr) result = text.get();
  return result;
}

}  // namespace evo::vgpu
