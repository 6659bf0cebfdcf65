#pragma once

#include "engine/base/source_tree.h"
#include "population/package/kernels_to_package.h"

namespace evo {

/// A folder that pip installs and Hugging Face's kernel-builder builds: the exported files, a binding, Python, tests.
SourceTree torch_package(const PackageRequest& request);

}  // namespace evo
