#pragma once

#include "population/package/package.h"

namespace evo {

/// A folder that pip installs and Hugging Face's kernel-builder builds: the exported files, a binding, Python, tests.
SourceTree torch_package(const PackageRequest& request);

}  // namespace evo
