#include "evaluator/vgpu/ptx/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace evo::vgpu::ptx {

std::optional<std::string> demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::nullopt;  // __cxa_demangle takes "f" for the type float.
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  return text.get();
}

}  // namespace evo::vgpu::ptx
