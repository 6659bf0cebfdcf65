#include "population/package/package.h"

#include <array>

#include "population/package/torch_package.h"

namespace evo {
namespace {

constexpr std::array kPackageFormats = {
    PackageFormat{"torch", "a package for torch", torch_package, "pip install --no-build-isolation --no-deps ."},
};

}  // namespace

std::span<const PackageFormat> package_formats() {
  return kPackageFormats;
}

}  // namespace evo
