#include "evaluator/device/quantisation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/device/regime_values.h"
#include "evaluator/device/scale_groups.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/numbers/float_formats.h"

namespace evo {
namespace {

/// The real value of the largest code of a dtype.
float largest_code(DType dtype) {
  if (dtype == DType::u8) return 448.0F;  // Simulated e4m3: [-448, 448] onto [0, 255].
  const DTypeInfo& info = info_of(dtype);
  if (info.bits > 8 || dtype == DType::boolean || dtype == DType::e8m0)
    throw machine_error("an input with a scale has a dtype that is not of 4 or 8 bits");
  return static_cast<float>(info.greatest);
}

float round_within(float value, float low, float high) {
  return std::clamp(std::nearbyint(value), low, high);
}

float encoded_by_scale(DType dtype, float value, float scale) {
  const float ratio = value / scale;
  return dtype == DType::u8 ? 127.5F + ratio * (255.0F / 896.0F) : ratio;
}

/// A scale of 0 would make every code NaN: a group of zeros has scale 1, and its codes are the zero point.
Quantiser symmetric(DType dtype, float low, float high) {
  const float most = std::max(std::fabs(low), std::fabs(high));
  return {most > 0 ? most / largest_code(dtype) : 1.0F, 0};
}

/// 0 is one of the codes, exactly. The codes of a group of zeros are the middle one.
Quantiser affine(DType dtype, float low, float high) {
  const DTypeInfo& codes = info_of(dtype);
  const auto least = static_cast<float>(codes.least), greatest = static_cast<float>(codes.greatest);
  low = std::min(low, 0.0F);
  high = std::max(high, 0.0F);
  if (low == high) return {1, std::ceil((least + greatest) / 2)};
  const float scale = (high - low) / (greatest - least);
  return {scale, round_within(least - low / scale, least, greatest)};
}

/// As the tensor of scales stores it. A power of two is rounded up, so that the largest value keeps its code.
float stored_scale(DType dtype, float scale) {
  if (dtype == DType::f32) return scale;
  std::byte bytes[8] = {};
  store(dtype, static_cast<double>(scale), bytes);
  const auto stored = static_cast<float>(as_double(load(dtype, bytes)));
  if (dtype == DType::e8m0 && stored < scale) return stored * 2;
  return stored > 0 ? stored : static_cast<float>(dtype == DType::e4m3 ? 0x1p-9 : stored);
}

}  // namespace

void store_rounded(DType dtype, float value, std::byte* to, std::uint64_t index) {
  switch (dtype) {
    case DType::f32:
      std::memcpy(to + index * sizeof(float), &value, sizeof(float));
      break;
    case DType::f16: {
      const std::uint16_t bits = f16_from_f32(value);
      std::memcpy(to + index * sizeof bits, &bits, sizeof bits);
      break;
    }
    case DType::bf16: {
      const std::uint16_t bits = bf16_from_f32(value);
      std::memcpy(to + index * sizeof bits, &bits, sizeof bits);
      break;
    }
    case DType::e4m3:
      to[index] = std::byte{e4m3_from_f32(value)};
      break;
    case DType::e5m2:
      to[index] = std::byte{e5m2_from_f32(value)};
      break;
    default: {
      const DTypeInfo& info = info_of(dtype);
      const double rounded = std::clamp(std::nearbyint(static_cast<double>(value)), info.least, info.greatest);
      store_at(dtype, to, index,
               info.floating ? Number(static_cast<double>(value)) : Number(static_cast<std::int64_t>(rounded)));
    }
  }
}

Quantiser quantiser_of(const CaseRecipe& recipe, const InputRecipe& input, float low, float high) {
  if (low > high) low = high = 0;
  Quantiser quantiser = input.zero_point ? affine(input.dtype, low, high) : symmetric(input.dtype, low, high);
  quantiser.scale = input.unit_scale ? 1.0F : stored_scale(recipe.inputs[*input.scale].dtype, quantiser.scale);
  return quantiser;
}

void encode(const InputRecipe& input, const std::vector<Quantiser>& of_groups, std::uint64_t begin, std::uint64_t end,
            const float* values, std::byte* codes, std::uint64_t at) {
  const ScaleGroups groups(input.dims, input.scale_dims);
  groups.visit_runs(begin, end, [&](std::uint64_t group, std::uint64_t first, std::uint64_t last) {
    const Quantiser& quantiser = of_groups[group];
    for (std::uint64_t i = first - begin; i < last - begin; ++i) {
      const float code = input.zero_point ? values[i] / quantiser.scale + quantiser.zero_point
                                          : encoded_by_scale(input.dtype, values[i], quantiser.scale);
      store_rounded(input.dtype, code, codes, at + i);
    }
  });
}

void quantise(const CaseRecipe& recipe, const InputRecipe& input, const std::vector<float>& values,
              std::vector<std::vector<std::byte>>& contents, std::byte* codes) {
  const ScaleGroups groups(input.dims, input.scale_dims);
  struct Extent {
    float low = std::numeric_limits<float>::infinity();
    float high = -std::numeric_limits<float>::infinity();
  };
  std::vector<Extent> extents(groups.count());
  groups.visit_runs(0, input.elements, [&](std::uint64_t group, std::uint64_t begin, std::uint64_t end) {
    Extent& extent = extents[group];
    for (std::uint64_t i = begin; i < end; ++i) {
      extent.low = std::min(extent.low, values[i]);
      extent.high = std::max(extent.high, values[i]);
    }
  });
  std::vector<Quantiser> quantisers(groups.count());
  for (std::uint64_t group = 0; group < groups.count(); ++group) {
    const auto [low, high] = extents[group];
    const Quantiser& quantiser = quantisers[group] = quantiser_of(recipe, input, low, high);
    store_at(recipe.inputs[*input.scale].dtype, contents[*input.scale].data(), group,
             static_cast<double>(quantiser.scale));
    if (input.zero_point)
      store_at(recipe.inputs[*input.zero_point].dtype, contents[*input.zero_point].data(), group,
               static_cast<std::int64_t>(quantiser.zero_point));
  }
  parallel_chunks(input.elements, kDrawnAtOnce, [&](std::uint64_t begin, std::uint64_t end) {
    encode(input, quantisers, begin, end, values.data() + begin, codes, begin);
  });
}

}  // namespace evo
