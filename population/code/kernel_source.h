#pragma once

#include <map>
#include <string>
#include <vector>

/// The sources of kernels within an exported file.
namespace evo {

/// A namespace with kernels in an exported file.
struct KernelBlock {
  std::string name_space;            ///< "evo_scale_1f0c6ab97d25_D64"
  std::vector<std::string> kernels;  ///< Those that are launched, by their C++ names in the source.
  /// Functions that go by another name in the file, without their namespaces: "scale" as
  /// "scale_D64_1f0c6ab97d25".
  std::map<std::string, std::string> renamed;
};

/// The #include lines of a source. They precede its namespace; the headers' guards then make them empty within it.
std::string includes_of(const std::string& source);

/// The kernel source, or `marker`, which has it between the lines that mark it, in its namespace.
std::string kernel_block(const std::string& source, const std::string& marker, const KernelBlock& block);

/// How a kernel of the block is called in the file.
std::string symbol_of(const std::string& kernel, const KernelBlock& block);

/// An expression for the host's address of a kernel of the block.
std::string address_of(const std::string& kernel, const KernelBlock& block);

/// Of a template: "reduce<float, 256>".
bool is_instance(const std::string& kernel);

/// "scale" of "ns::scale".
std::string unqualified(const std::string& kernel);

/// The lines that enclose source number `index`.
std::string begin_marker(std::size_t index);
std::string end_marker(std::size_t index);

/// The source as it stands in the file: it ends with a line break, and `#pragma unroll MACRO` has the macro's number,
/// because nvcc, unlike NVRTC, does not expand macros there.
std::string exported_source(const std::string& source);

}  // namespace evo
