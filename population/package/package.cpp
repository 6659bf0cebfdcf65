#include "population/package/package.h"

#include <array>

namespace evo {
namespace {

constexpr std::array kPackageFormats = {
    PackageFormat{"flashinfer-bench", "a data set for flashinfer-bench", flashinfer_bench_package,
                  "README.md has the command of the judge"},
    PackageFormat{"kernelbench", "a problem and a solution for KernelBench", kernelbench_package,
                  "README.md has the command of the judge"},
    PackageFormat{"robust-kbench", "a task with a kernel for robust-kbench", robust_kbench_package,
                  "README.md has the command of the judge"},
    PackageFormat{"torch", "a package for torch", torch_package, "pip install --no-build-isolation --no-deps ."},
};

}  // namespace

std::span<const PackageFormat> package_formats() {
  return kPackageFormats;
}

}  // namespace evo
