#pragma once

#include "engine/base/source_tree.h"
#include "population/package/kernels_to_package.h"

namespace evo {

/// For flashinfer-bench: a Definition, a Solution with torch's binding, and workloads with the timed shapes.
SourceTree flashinfer_bench_package(const PackageRequest& request);

}  // namespace evo
