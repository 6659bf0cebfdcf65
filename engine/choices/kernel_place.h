#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace evo {

/// Where a kernel stands in a source: offsets.
struct KernelPlace {
  std::size_t global = 0;      ///< Of "__global__".
  std::size_t void_type = 0;   ///< Of "void".
  std::size_t open = 0;        ///< Of the ( of its parameters.
  std::size_t close = 0;       ///< Of their ).
  std::size_t body = 0;        ///< Of its {.
  std::size_t body_close = 0;  ///< Of its }.
};

/// The definition of a kernel, by its name without namespaces and arguments of a template. `code`: as code_only() gives
/// it (source_mutation.h). Empty: there is none.
std::optional<KernelPlace> find_kernel(const std::string& code, const std::string& name);

}  // namespace evo
