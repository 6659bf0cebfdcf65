#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {

/// An argument as far as it must fit a kernel's parameter.
struct GivenArgument {
  std::string text;               ///< For messages: "int ('int:5')", "the buffer 'x'".
  std::size_t bytes = 0;          ///< As it is passed.
  bool address = false;           ///< Of a buffer, or null.
  std::optional<ValueType> type;  ///< Of a scalar or vector; empty for a struct.
  /// The buffer's element type, if it must be that of the kernel's pointer.
  std::optional<DType> elements;
};

/// An argument that cannot be what the kernel's parameter is.
struct Misfit {
  std::size_t index = 0;
  std::string taken;  ///< "float", "an integer of 4 bytes", "Item (16 bytes)"
  std::string given;  ///< The argument's text.
};

/// The types of a function's parameters from its demangled name: {"float*", "int"} of "k(float*, int)". Empty for a
/// name without them, of a function with C linkage.
std::vector<std::string> parameter_types(const std::string& demangled);

/// "k takes 3 arguments (float*, int, int), 2 are given"; empty where the number is right. `kernel`: its name for
/// messages; `ptx_name`: the one that holds its types if it is a C++ function.
std::string wrong_number(const std::string& kernel, const std::string& ptx_name, std::size_t taken, std::size_t given);

/// The arguments that do not fit; `parameters` and `given` are equally many. A number must have the parameter's type;
/// integers may differ in sign. An address fits every pointer, except a pointer to floats of another type than
/// `elements`.
std::vector<Misfit> misfits(const std::string& ptx_name, std::span<const vgpu::DeclaredParameter> parameters,
                            std::span<const GivenArgument> given);

}  // namespace evo::cli
