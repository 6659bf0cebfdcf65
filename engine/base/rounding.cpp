#include "engine/base/rounding.h"

namespace evo {
namespace {

constexpr double kOfWiderIntegers = 127;

}  // namespace

double greatest_rounded_to(DType dtype) {
  const DTypeInfo& info = info_of(dtype);
  if (dtype == DType::boolean || dtype == DType::e8m0) return 1;
  if (info.bits == 8) return info.greatest;
  return info.floating ? 1 : kOfWiderIntegers;
}

}  // namespace evo
