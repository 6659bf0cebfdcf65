#include "evaluator/device/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/base/random.h"
#include "evaluator/device/draws.h"
#include "evaluator/device/scale_groups.h"
#include "evaluator/device/strided_layout.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/numbers/float_formats.h"
#include "evaluator/numbers/numpy.h"

namespace evo {
namespace {

/// Elements that one thread draws at a time; a multiple of the four words of a Philox block.
constexpr std::uint64_t kInputChunk = 1 << 14;

/// Elements after which a repeating input begins again; a multiple of kInputChunk.
constexpr std::uint64_t kPeriod = 1 << 20;

/// What a counter's third word says the number is for, so that choices and values are independent.
enum class InputPurpose : std::uint32_t { value, choice, row, low_bits, perturbation };

std::array<std::uint32_t, 4> words(const InputRecipe& recipe, InputPurpose purpose, std::uint64_t block) {
  return philox(recipe.stream, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                static_cast<std::uint32_t>(purpose), 0});
}

/// Word number `index` of a purpose's sequence.
std::uint32_t word(const InputRecipe& recipe, InputPurpose purpose, std::uint64_t index) {
  return words(recipe, purpose, index / 4)[index % 4];
}

/// Elements `begin` to `end` of an input, which are drawn to values[0], values[1], ...: of_word(the element's own
/// random word) times gain. `begin` is a multiple of 4.
template <typename OfWord>
void draw_each(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double gain, float* values,
               OfWord of_word) {
  for (std::uint64_t i = begin; i < end; i += 4) {
    const auto four = words(recipe, InputPurpose::value, i / 4);
    for (std::uint64_t lane = 0; lane < std::min<std::uint64_t>(4, end - i); ++lane) {
      values[i - begin + lane] = static_cast<float>(gain * of_word(four[lane]));
    }
  }
}

void draw_normal(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double gain, float* values) {
  draw_each(recipe, begin, end, gain, values, normal_from_word);
}

/// From 0 to gain.
void draw_uniform(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double gain, float* values) {
  draw_each(recipe, begin, end, gain, values, [](std::uint32_t word) { return (word + 0.5) * 0x1.0p-32; });
}

/// Multiplies by `factor` where the element's own choice word is below `share` of 2^32.
void scale_some(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double share, float factor,
                float* values) {
  const auto limit = static_cast<std::uint32_t>(share * 0x1.0p32);
  for (std::uint64_t i = begin; i < end; i += 4) {
    const auto four = words(recipe, InputPurpose::choice, i / 4);
    for (std::uint64_t lane = 0; lane < std::min<std::uint64_t>(4, end - i); ++lane) {
      if (four[lane] < limit) values[i - begin + lane] *= factor;
    }
  }
}

/// visit(row, values of it) for each row of the last dimension, or the part of it, from `begin` to `end`.
template <typename Visit>
void visit_rows(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values, Visit visit) {
  for (std::uint64_t i = begin; i < end;) {
    const std::uint64_t row = i / recipe.row;
    const std::uint64_t row_end = std::min(end, (row + 1) * recipe.row);
    visit(row, std::span(values + (i - begin), values + (row_end - begin)));
    i = row_end;
  }
}

void draw_constant_rows(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  visit_rows(recipe, begin, end, values, [&](std::uint64_t row, std::span<float> elements) {
    std::ranges::fill(elements,
                      static_cast<float>(recipe.gain * normal_from_word(word(recipe, InputPurpose::row, row))));
  });
}

/// The row that stands out: in every second matrix the last one, where a kernel that drops a tail fails.
std::uint64_t spiked_row(const InputRecipe& recipe, std::uint64_t matrix, std::uint64_t seed) {
  const std::uint64_t rows = recipe.matrix / recipe.row;
  if ((matrix + seed) % 2 == 1) return rows - 1;
  return (word(recipe, InputPurpose::row, matrix) * rows) >> 32;
}

/// Multiplies one row of each matrix by gain: chosen(matrix) is its number.
template <typename Chosen>
void raise_rows(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values, Chosen chosen) {
  const std::uint64_t rows = recipe.matrix / recipe.row;
  visit_rows(recipe, begin, end, values, [&](std::uint64_t row, std::span<float> elements) {
    if (row % rows != chosen(row / rows)) return;
    for (float& value : elements) value *= static_cast<float>(recipe.gain);
  });
}

void scale_rows_log_normally(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  visit_rows(recipe, begin, end, values, [&](std::uint64_t row, std::span<float> elements) {
    const double factor = std::exp2(recipe.gain * normal_from_word(word(recipe, InputPurpose::row, row)));
    for (float& value : elements) value = static_cast<float>(value * factor);
  });
}

/// The column is the matrix's own.
void raise_common_channel(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  const std::uint64_t rows = recipe.matrix / recipe.row;
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::uint64_t matrix = i / recipe.row / rows;
    const std::uint64_t column = (word(recipe, InputPurpose::row, matrix) * recipe.row) >> 32;
    if (i % recipe.row == column) values[i - begin] += static_cast<float>(recipe.gain);
  }
}

void draw(const InputRecipe& recipe, std::uint64_t seed, std::uint64_t begin, std::uint64_t end, float* values) {
  const auto gain = static_cast<float>(recipe.gain);
  switch (recipe.distribution) {
    case Distribution::normal:
      draw_normal(recipe, begin, end, recipe.gain, values);
      break;
    case Distribution::outliers:
      draw_normal(recipe, begin, end, 1.0, values);
      scale_some(recipe, begin, end, 1.0 / 256, gain, values);
      break;
    case Distribution::zero_group:
      draw_normal(recipe, begin, end, 1.0, values);
      if (begin < recipe.group) std::fill_n(values, std::min(end, recipe.group) - begin, 0.0F);
      break;
    case Distribution::spikes:
      draw_normal(recipe, begin, end, 1.0, values);
      raise_rows(recipe, begin, end, values, [&](std::uint64_t matrix) { return spiked_row(recipe, matrix, seed); });
      break;
    case Distribution::first_row:
      draw_normal(recipe, begin, end, 1.0, values);
      raise_rows(recipe, begin, end, values, [](std::uint64_t) { return std::uint64_t{0}; });
      break;
    case Distribution::log_normal_rows:
      draw_normal(recipe, begin, end, 1.0, values);
      scale_rows_log_normally(recipe, begin, end, values);
      break;
    case Distribution::common_channel:
      draw_normal(recipe, begin, end, 1.0, values);
      raise_common_channel(recipe, begin, end, values);
      break;
    case Distribution::uniform:
      draw_uniform(recipe, begin, end, recipe.gain, values);
      break;
    case Distribution::constant_rows:
      draw_constant_rows(recipe, begin, end, values);
      break;
    case Distribution::sparse:
      draw_normal(recipe, begin, end, recipe.gain, values);
      scale_some(recipe, begin, end, 0.9, 0.0F, values);
      break;
    case Distribution::all_equal:
    case Distribution::extremes:
    case Distribution::sorted:
    case Distribution::ties:
      draw_normal(recipe, begin, end, recipe.gain, values);
      break;
    case Distribution::max_magnitude:
      std::fill_n(values, end - begin, gain);
      scale_some(recipe, begin, end, 0.5, -1.0F, values);
      break;
  }
}

/// How many elements differ from one another; those that follow repeat them.
std::uint64_t distinct(const CaseRecipe& recipe, const InputRecipe& input) {
  return recipe.repeating ? std::min(input.elements, kPeriod) : input.elements;
}

std::vector<float> draw(const CaseRecipe& recipe, const InputRecipe& input) {
  std::vector<float> values(input.elements);
  const std::uint64_t count = distinct(recipe, input);
  parallel_chunks(count, kInputChunk, [&](std::uint64_t begin, std::uint64_t end) {
    draw(input, recipe.seed, begin, end, values.data() + begin);
  });
  for (std::uint64_t i = count; i < input.elements; ++i) values[i] = values[i - count];
  return values;
}

/// The real value of the largest code of a dtype.
float largest_code(DType dtype) {
  switch (dtype) {
    case DType::e4m3:
      return 448.0F;
    case DType::e5m2:
      return 57344.0F;
    case DType::s8:
      return 127.0F;
    case DType::e2m1:
      return 6.0F;
    case DType::u8:
      return 448.0F;  // Simulated e4m3: [-448, 448] onto [0, 255].
    default:
      throw machine_error("an input with a scale has a dtype that is not of 4 or 8 bits");
  }
}

float round_within(float value, float low, float high) {
  return std::clamp(std::nearbyint(value), low, high);
}

/// Rounded to nearest even; saturated where the format has no infinity, and for integers.
void convert_one(DType dtype, float value, std::byte* to, std::uint64_t index) {
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

/// A double has 29 bits more than the float that was drawn: without them a kernel that computes in f32 would be exact.
double with_low_bits(const InputRecipe& recipe, float value, std::uint64_t index) {
  const double share = (static_cast<double>(word(recipe, InputPurpose::low_bits, index)) + 0.5) * 0x1.0p-32 - 0.5;
  return static_cast<double>(value) * (1 + share * 0x1.0p-23);
}

/// Draws the elements of an input without scales as its dtype.
void draw_codes(const CaseRecipe& recipe, const InputRecipe& input, std::span<std::byte> to) {
  const std::uint64_t count = distinct(recipe, input);
  parallel_chunks(count, kInputChunk, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<float> values(end - begin);
    draw(input, recipe.seed, begin, end, values.data());
    for (std::uint64_t i = begin; i < end; ++i) {
      const float value = values[i - begin];
      if (input.dtype == DType::f64) {
        store_at(DType::f64, to.data(), i, with_low_bits(input, value, i));
      } else {
        convert_one(input.dtype, value, to.data(), i);
      }
    }
  });
  const std::size_t period = bytes_for(input.dtype, count);
  for (std::size_t at = period; at < to.size(); at += period)
    std::ranges::copy(to.first(std::min(period, to.size() - at)), to.begin() + static_cast<std::ptrdiff_t>(at));
}

float encoded_by_scale(DType dtype, float value, float scale) {
  const float ratio = value / scale;
  return dtype == DType::u8 ? 127.5F + ratio * (255.0F / 896.0F) : ratio;
}

/// Scale and zero point of a group that holds values from `low` to `high`.
struct Quantiser {
  float scale = 1;
  float zero_point = 0;
};

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

/// Encodes the values of one input into `contents`, with its scales and zero points.
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
  const DType scale_dtype = recipe.inputs[*input.scale].dtype;
  std::vector<Quantiser> quantisers(groups.count());
  for (std::uint64_t group = 0; group < groups.count(); ++group) {
    const auto [low, high] = extents[group];
    Quantiser& quantiser = quantisers[group];
    quantiser = input.zero_point ? affine(input.dtype, low, high) : symmetric(input.dtype, low, high);
    quantiser.scale = input.unit_scale ? 1.0F : stored_scale(scale_dtype, quantiser.scale);
    store_at(scale_dtype, contents[*input.scale].data(), group, static_cast<double>(quantiser.scale));
    if (input.zero_point) {
      store_at(recipe.inputs[*input.zero_point].dtype, contents[*input.zero_point].data(), group,
               static_cast<std::int64_t>(quantiser.zero_point));
    }
  }
  parallel_chunks(input.elements, kInputChunk, [&](std::uint64_t begin, std::uint64_t end) {
    groups.visit_runs(begin, end, [&](std::uint64_t group, std::uint64_t first, std::uint64_t last) {
      const Quantiser& quantiser = quantisers[group];
      for (std::uint64_t i = first; i < last; ++i) {
        const float code = input.zero_point ? values[i] / quantiser.scale + quantiser.zero_point
                                            : encoded_by_scale(input.dtype, values[i], quantiser.scale);
        convert_one(input.dtype, code, codes, i);
      }
    });
  });
}

std::uint64_t product(const std::vector<std::int64_t>& dims, std::size_t from) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(from), dims.end(), std::uint64_t{1},
                         [](std::uint64_t a, std::int64_t b) { return a * static_cast<std::uint64_t>(b); });
}

std::optional<std::uint32_t> index_of_input(const Task& task, const std::string& name) {
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.inputs[i].name == name) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

/// As many dims as the tensor has; those that the scale does not have are 1.
std::vector<std::uint64_t> scale_dims_of(const Tensor& scale, const Bindings& known, std::size_t rank) {
  std::vector<std::uint64_t> dims;
  for (const std::int64_t dim : dims_of(scale, known)) dims.push_back(static_cast<std::uint64_t>(dim));
  dims.resize(std::max(rank, dims.size()), 1);
  return dims;
}

InputRecipe resolve_input(const Task& task, const Tensor& tensor, const Bindings& known, const Bindings& options,
                          const Regime& regime) {
  InputRecipe recipe;
  recipe.name = tensor.name;
  recipe.dtype = dtype_of(tensor, options);
  if (!is_present(tensor, options)) return recipe;
  const std::vector<std::int64_t> dims = dims_of(tensor, known);
  recipe.elements = product(dims, 0);
  recipe.row = dims.empty() ? 1 : product(dims, dims.size() - 1);
  recipe.matrix = dims.size() < 2 ? recipe.elements : product(dims, dims.size() - 2);
  recipe.group = recipe.matrix;
  recipe.dims.assign(dims.begin(), dims.end());
  if (!tensor.strides.empty())
    for (const std::int64_t stride : strides_of(tensor, known))
      recipe.strides.push_back(static_cast<std::uint64_t>(stride));
  recipe.draw = tensor.draw.kind;
  recipe.numbers = evaluate(tensor.draw, known);
  if (!tensor.scale.empty()) {
    recipe.scale = index_of_input(task, tensor.scale);
    if (!recipe.scale) throw usage_error("input " + tensor.name + ": its scale " + tensor.scale + " is not an input");
    if (!tensor.zero_point.empty()) recipe.zero_point = index_of_input(task, tensor.zero_point);
    recipe.scale_dims = scale_dims_of(task.inputs[*recipe.scale], known, dims.size());
    recipe.dims.resize(recipe.scale_dims.size(), 1);
    recipe.group = 1;
    for (std::size_t i = 0; i < recipe.dims.size(); ++i)
      recipe.group *= (recipe.dims[i] + recipe.scale_dims[i] - 1) / recipe.scale_dims[i];
  }
  const bool applies = regime.tensors.empty() ||
                       std::find(regime.tensors.begin(), regime.tensors.end(), tensor.name) != regime.tensors.end();
  if (applies) {
    recipe.distribution = regime.distribution;
    recipe.gain = regime.gain;
    recipe.unit_scale = regime.unit_scales;
  }
  return recipe;
}

/// The dtype that the elements are stored as in the end.
DType stored_dtype(const InputRecipe& recipe) {
  return recipe.widened.value_or(recipe.dtype);
}

std::vector<std::byte> widened(const InputRecipe& recipe, const std::vector<std::byte>& dense) {
  std::vector<std::byte> wide(bytes_for(*recipe.widened, recipe.elements));
  for (std::uint64_t i = 0; i < recipe.elements; ++i)
    store_at(*recipe.widened, wide.data(), i, load_at(recipe.dtype, dense.data(), i));
  return wide;
}

/// Flips the last bit of every second element or so.
void perturb(const InputRecipe& recipe, std::vector<std::byte>& dense) {
  const std::size_t size = size_of(recipe.dtype);  // The bytes of a number begin with its lowest.
  parallel_chunks(recipe.elements, kInputChunk, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      dense[i * size] ^= std::byte{static_cast<unsigned char>(word(recipe, InputPurpose::perturbation, i) & 1U)};
  });
}

bool can_be_perturbed(const InputRecipe& recipe) {
  return is_floating(recipe.dtype) && bits_of(recipe.dtype) >= 16 && !recipe.is_computed;
}

/// Dense elements at their places; what lies between is never to be read: it holds NaNs, or the largest integers.
std::vector<std::byte> with_strides(const InputRecipe& recipe, const std::vector<std::byte>& dense) {
  const StridedLayout layout(recipe.dims, recipe.strides);
  const std::size_t size = size_of(stored_dtype(recipe));
  std::vector<std::byte> content(layout.extent() * size, std::byte{0xff});
  layout.scatter(dense, size, content);
  return content;
}

std::vector<std::byte> content_of_file(const InputRecipe& recipe) {
  std::string_view data = recipe.content;
  if (data.starts_with("\x93NUMPY")) data = parse_numpy(recipe.name, data).data;
  const std::uint64_t wanted = bytes_for(recipe.dtype, recipe.elements);
  if (data.size() != wanted)
    throw usage_error(
        fmt::format("input {}: its file has {} bytes of data, the shape wants {}", recipe.name, data.size(), wanted));
  const auto bytes = std::as_bytes(std::span(data));
  return {bytes.begin(), bytes.end()};
}

/// Whether the values are drawn as floats by a regime.
bool is_drawn_by_regime(const InputRecipe& recipe) {
  return recipe.draw == DrawKind::automatic && (is_floating(recipe.dtype) || recipe.scale);
}

DrawRecipe draw_recipe(const InputRecipe& recipe) {
  return {recipe.name, recipe.dtype,   recipe.elements,     recipe.row,
          recipe.draw, recipe.numbers, recipe.distribution, recipe.stream};
}

}  // namespace

CaseRecipe make_recipe(const Task& task, const Bindings& options, const Shape& shape, const Regime& regime,
                       std::uint64_t seed, std::uint64_t salt) {
  Bindings known = options;
  for (const auto& [name, value] : shape.parameters) known.insert_or_assign(name, value);
  CaseRecipe recipe;
  recipe.seed = seed;
  const std::uint64_t key = mix(mix(mix(mix(salt, task.name), shape.name), regime.name), seed);
  for (const Tensor& tensor : drawn_tensors(task)) {
    recipe.inputs.push_back(resolve_input(task, tensor, known, options, regime));
    InputRecipe& input = recipe.inputs.back();
    input.stream = mix(key, tensor.name);
    if (input.draw == DrawKind::file) input.content = task.files.at(tensor.draw.path);
  }
  for (const InputRecipe& input : recipe.inputs) {
    if (input.scale) recipe.inputs[*input.scale].is_computed = true;
    if (input.zero_point) recipe.inputs[*input.zero_point].is_computed = true;
  }
  return recipe;
}

std::uint64_t input_bytes(const CaseRecipe& recipe) {
  std::uint64_t bytes = 0;
  for (const InputRecipe& input : recipe.inputs) bytes += bytes_of(input);
  return bytes;
}

std::uint64_t bytes_of(const InputRecipe& input) {
  if (input.strides.empty() || input.elements == 0) return bytes_for(stored_dtype(input), input.elements);
  return StridedLayout(input.dims, input.strides).extent() * size_of(stored_dtype(input));
}

std::vector<std::vector<std::byte>> generate_inputs(const CaseRecipe& recipe) {
  std::vector<std::vector<std::byte>> contents;
  for (const InputRecipe& input : recipe.inputs) contents.emplace_back(bytes_for(input.dtype, input.elements));
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i) {
    const InputRecipe& input = recipe.inputs[i];
    if (input.is_computed || input.elements == 0) continue;
    if (input.draw == DrawKind::file) {
      contents[i] = content_of_file(input);
    } else if (!is_drawn_by_regime(input)) {
      draw_elements(draw_recipe(input), contents[i].data());
    } else if (input.scale) {
      quantise(recipe, input, draw(recipe, input), contents, contents[i].data());
    } else {
      draw_codes(recipe, input, contents[i]);
    }
  }
  if (recipe.perturbed)
    for (std::size_t i = 0; i < recipe.inputs.size(); ++i)
      if (can_be_perturbed(recipe.inputs[i])) perturb(recipe.inputs[i], contents[i]);
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i)
    if (recipe.inputs[i].widened) contents[i] = widened(recipe.inputs[i], contents[i]);
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i)
    if (!recipe.inputs[i].strides.empty() && recipe.inputs[i].elements > 0)
      contents[i] = with_strides(recipe.inputs[i], contents[i]);
  return contents;
}

}  // namespace evo
