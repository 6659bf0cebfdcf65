#pragma once

#include <span>
#include <string_view>

#include "engine/base/source_tree.h"
#include "population/package/kernels_to_package.h"

/// Kernels as folders that other programs take. A new format is a file with its writer, a line here, and a row of the
/// table in package.cpp.
namespace evo {

struct PackageFormat {
  std::string_view name;   ///< As `evo export --format` takes it.
  std::string_view title;  ///< "a package for torch".
  /// The files of the folder by their path in it. Pure. Throws usage_error when the format cannot hold the kernels.
  SourceTree (*write)(const PackageRequest& request) = nullptr;
  /// How to build or run what was written, in the folder: "pip install --no-build-isolation .".
  std::string_view use;
};

/// By name.
std::span<const PackageFormat> package_formats();

// What writes them; docs/export.md has what the judges of other projects require.

/// For flashinfer-bench: a Definition, a Solution with torch's binding, and workloads with the timed shapes.
SourceTree flashinfer_bench_package(const PackageRequest& request);
/// For KernelBench: model.py and model_new.py, with a reference in torch, inputs, and the kernel as a solution.
SourceTree kernelbench_package(const PackageRequest& request);
/// For robust-kbench: a folder of its tasks with forward.cu.
SourceTree robust_kbench_package(const PackageRequest& request);
/// A folder that pip installs: the exported files, a binding, Python, tests.
SourceTree torch_package(const PackageRequest& request);

}  // namespace evo
