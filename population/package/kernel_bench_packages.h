#pragma once

#include "engine/base/source_tree.h"
#include "population/package/kernels_to_package.h"

/// Folders for the judges of other projects: a reference in torch, inputs, and the kernel as a solution. docs/export.md
/// has their requirements.
namespace evo {

/// For KernelBench: model.py and model_new.py.
SourceTree kernelbench_package(const PackageRequest& request);

/// For robust-kbench: a folder of its tasks with forward.cu.
SourceTree robust_kbench_package(const PackageRequest& request);

}  // namespace evo
