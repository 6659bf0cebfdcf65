#include "evaluator/device/device.h"

namespace evo {
namespace {

/// Dense tensor-core rates of one SM in flop per clock (vendor's architecture whitepapers). Where a rate
/// depends on the accumulator the faster one is given: these are bounds, not expectations.
struct TensorRates {
  double f64 = 0;
  double half = 0;  ///< f16 and bf16.
  double fp8 = 0;   ///< e4m3 and e5m2.
  double int8 = 0;
};

TensorRates tensor_rates(int sm) {
  if (sm >= 120) return {0, 1024, 2048, 2048};
  if (sm >= 100) return {128, 8192, 16384, 16384};
  if (sm >= 90) return {256, 4096, 8192, 8192};
  if (sm >= 89) return {0, 1024, 2048, 2048};
  if (sm == 87) return {0, 2048, 0, 4096};
  if (sm >= 86) return {0, 1024, 0, 2048};
  if (sm >= 80) return {128, 2048, 0, 4096};
  if (sm >= 75) return {0, 1024, 0, 2048};
  if (sm >= 70) return {0, 1024, 0, 0};
  return {};
}

double rate_of(const TensorRates& rates, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return rates.f64;
    case DType::f16:
    case DType::bf16:
      return rates.half;
    case DType::e4m3:
    case DType::e5m2:
      return rates.fp8;
    case DType::u8:
    case DType::s8:
      return rates.int8;
    default:
      return 0;
  }
}

}  // namespace

double DeviceInfo::peak_tflops(DType dtype) const {
  return rate_of(tensor_rates(limits.sm), dtype) * limits.sm_count * clock_ghz * 1e-3;
}

std::string called(const DeviceInfo& device) {
  return device.host.empty() ? device.id : device.id + " on " + device.host;
}

}  // namespace evo
