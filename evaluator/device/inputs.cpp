#include "evaluator/device/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/base/random.h"
#include "evaluator/numbers/float_formats.h"

namespace evo {
namespace {

/// Elements that one thread draws at a time; a multiple of the four words of a Philox block.
constexpr std::uint64_t kChunk = 1 << 16;

/// What a counter's third word says the number is for, so that choices and values are independent.
enum class Purpose : std::uint32_t { value, choice, row };

std::array<std::uint32_t, 4> words(const InputRecipe& recipe, Purpose purpose, std::uint64_t block) {
  return philox(recipe.stream, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                static_cast<std::uint32_t>(purpose), 0});
}

/// Word number `index` of a purpose's sequence.
std::uint32_t word(const InputRecipe& recipe, Purpose purpose, std::uint64_t index) {
  return words(recipe, purpose, index / 4)[index % 4];
}

void draw_normal(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double gain, float* values) {
  for (std::uint64_t i = begin; i < end; i += 4) {
    const auto four = words(recipe, Purpose::value, i / 4);
    for (std::uint64_t lane = 0; lane < std::min<std::uint64_t>(4, end - i); ++lane) {
      values[i + lane] = static_cast<float>(gain * normal_from_word(four[lane]));
    }
  }
}

/// Multiplies by `factor` where the element's own choice word is below `share` of 2^32.
void scale_some(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double share, float factor,
                float* values) {
  const auto limit = static_cast<std::uint32_t>(share * 0x1.0p32);
  for (std::uint64_t i = begin; i < end; i += 4) {
    const auto four = words(recipe, Purpose::choice, i / 4);
    for (std::uint64_t lane = 0; lane < std::min<std::uint64_t>(4, end - i); ++lane) {
      if (four[lane] < limit) values[i + lane] *= factor;
    }
  }
}

void draw_constant_rows(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  std::uint64_t i = begin;
  while (i < end) {
    const std::uint64_t row = i / recipe.row;
    const std::uint64_t row_end = std::min(end, (row + 1) * recipe.row);
    const auto value = static_cast<float>(recipe.gain * normal_from_word(word(recipe, Purpose::row, row)));
    std::fill(values + i, values + row_end, value);
    i = row_end;
  }
}

/// The row that stands out: in every second matrix the last one, where a kernel that drops a tail fails.
std::uint64_t spiked_row(const InputRecipe& recipe, std::uint64_t matrix, std::uint64_t seed) {
  const std::uint64_t rows = recipe.matrix / recipe.row;
  if ((matrix + seed) % 2 == 1) return rows - 1;
  return (word(recipe, Purpose::row, matrix) * rows) >> 32;
}

void raise_spikes(const InputRecipe& recipe, std::uint64_t seed, float* values) {
  for (std::uint64_t matrix = 0; matrix * recipe.matrix < recipe.elements; ++matrix) {
    float* row = values + matrix * recipe.matrix + spiked_row(recipe, matrix, seed) * recipe.row;
    for (std::uint64_t i = 0; i < recipe.row; ++i) row[i] *= static_cast<float>(recipe.gain);
  }
}

std::vector<float> draw(const InputRecipe& recipe, std::uint64_t seed) {
  std::vector<float> values(recipe.elements);
  parallel_chunks(recipe.elements, kChunk, [&](std::uint64_t begin, std::uint64_t end) {
    const auto gain = static_cast<float>(recipe.gain);
    switch (recipe.distribution) {
      case Distribution::normal:
        draw_normal(recipe, begin, end, recipe.gain, values.data());
        break;
      case Distribution::outliers:
        draw_normal(recipe, begin, end, 1.0, values.data());
        scale_some(recipe, begin, end, 1.0 / 256, gain, values.data());
        break;
      case Distribution::zero_group:
      case Distribution::spikes:
        draw_normal(recipe, begin, end, 1.0, values.data());
        break;
      case Distribution::constant_rows:
        draw_constant_rows(recipe, begin, end, values.data());
        break;
      case Distribution::sparse:
        draw_normal(recipe, begin, end, recipe.gain, values.data());
        scale_some(recipe, begin, end, 0.9, 0.0F, values.data());
        break;
      case Distribution::max_magnitude:
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(begin),
                  values.begin() + static_cast<std::ptrdiff_t>(end), gain);
        scale_some(recipe, begin, end, 0.5, -1.0F, values.data());
        break;
    }
  });
  if (recipe.distribution == Distribution::spikes) raise_spikes(recipe, seed, values.data());
  if (recipe.distribution == Distribution::zero_group) std::fill_n(values.begin(), recipe.group, 0.0F);
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
    case DType::u8:
      return 448.0F;  // Simulated e4m3: [-448, 448] onto [0, 255].
    default:
      throw machine_error("an input with a scale has a dtype that is not of 8 bits");
  }
}

float round_within(float value, float low, float high) {
  return std::clamp(std::nearbyint(value), low, high);
}

std::byte encode8(DType dtype, float value) {
  switch (dtype) {
    case DType::e4m3:
      return std::byte{e4m3_from_f32(value)};
    case DType::e5m2:
      return std::byte{e5m2_from_f32(value)};
    case DType::s8:
      return static_cast<std::byte>(static_cast<std::int8_t>(round_within(value, -128, 127)));
    default:
      return static_cast<std::byte>(static_cast<std::uint8_t>(round_within(value, 0, 255)));
  }
}

float encoded_by_scale(DType dtype, float value, float scale) {
  const float ratio = value / scale;
  return dtype == DType::u8 ? 127.5F + ratio * (255.0F / 896.0F) : ratio;
}

float amax(const float* values, std::uint64_t count) {
  float most = 0;
  for (std::uint64_t i = 0; i < count; ++i) most = std::max(most, std::fabs(values[i]));
  return most;
}

/// Encodes the values of one input and returns its scales.
std::vector<float> quantise(const InputRecipe& recipe, const std::vector<float>& values, std::byte* codes) {
  std::vector<float> scales(recipe.elements / recipe.group);
  parallel_chunks(scales.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t group = first; group < last; ++group) {
      const std::uint64_t begin = group * recipe.group;
      const float most = amax(values.data() + begin, recipe.group);
      // A scale of 0 would make every code NaN: a group of zeros has scale 1.
      const float scale = most > 0 ? most / largest_code(recipe.dtype) : 1.0F;
      scales[group] = scale;
      for (std::uint64_t i = begin; i < begin + recipe.group; ++i) {
        codes[i] = encode8(recipe.dtype, encoded_by_scale(recipe.dtype, values[i], scale));
      }
    }
  });
  return scales;
}

template <typename T>
void store(std::byte* to, std::uint64_t index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

void convert_one(DType dtype, float value, std::byte* to, std::uint64_t index) {
  switch (dtype) {
    case DType::u8:
    case DType::s8:
    case DType::e4m3:
    case DType::e5m2:
      to[index] = encode8(dtype, value);
      break;
    case DType::s32:
      store(to, index, static_cast<std::int32_t>(std::nearbyint(value)));
      break;
    case DType::f16:
      store(to, index, f16_from_f32(value));
      break;
    case DType::bf16:
      store(to, index, bf16_from_f32(value));
      break;
    case DType::f32:
      store(to, index, value);
      break;
    case DType::f64:
      store(to, index, static_cast<double>(value));
      break;
  }
}

void convert(const InputRecipe& recipe, const std::vector<float>& values, std::byte* to) {
  parallel_chunks(recipe.elements, kChunk, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) convert_one(recipe.dtype, values[i], to, i);
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

InputRecipe resolve_input(const Task& task, const Tensor& tensor, const Bindings& known, const Bindings& options,
                          const Regime& regime) {
  InputRecipe recipe;
  recipe.name = tensor.name;
  recipe.dtype = dtype_of(tensor, options);
  const std::vector<std::int64_t> dims = dims_of(tensor, known);
  recipe.elements = product(dims, 0);
  recipe.row = dims.empty() ? 1 : product(dims, dims.size() - 1);
  recipe.matrix = dims.size() < 2 ? recipe.elements : product(dims, dims.size() - 2);
  recipe.group = recipe.matrix;
  if (!tensor.scale.empty()) {
    recipe.scale = index_of_input(task, tensor.scale);
    if (!recipe.scale) throw usage_error("input " + tensor.name + ": its scale " + tensor.scale + " is not an input");
    const auto groups = static_cast<std::uint64_t>(element_count(task.inputs[*recipe.scale], known));
    if (recipe.elements % groups != 0) {
      throw usage_error(fmt::format("input {}: its {} elements cannot share the {} scales of {} evenly", tensor.name,
                                    recipe.elements, groups, tensor.scale));
    }
    recipe.group = recipe.elements / groups;
  }
  const bool applies = regime.tensors.empty() ||
                       std::find(regime.tensors.begin(), regime.tensors.end(), tensor.name) != regime.tensors.end();
  if (applies) {
    recipe.distribution = regime.distribution;
    recipe.gain = regime.gain;
  }
  return recipe;
}

}  // namespace

CaseRecipe make_recipe(const Task& task, const Bindings& options, const Shape& shape, const Regime& regime,
                       std::uint64_t seed, std::uint64_t salt) {
  Bindings known = options;
  for (const auto& [name, value] : shape.parameters) known.insert_or_assign(name, value);
  CaseRecipe recipe;
  recipe.seed = seed;
  const std::uint64_t key = mix(mix(mix(mix(salt, task.name), shape.name), regime.name), seed);
  for (const Tensor& tensor : task.inputs) {
    recipe.inputs.push_back(resolve_input(task, tensor, known, options, regime));
    recipe.inputs.back().stream = mix(key, tensor.name);
  }
  for (const InputRecipe& input : recipe.inputs) {
    if (input.scale) recipe.inputs[*input.scale].is_scale = true;
  }
  return recipe;
}

std::uint64_t input_bytes(const CaseRecipe& recipe) {
  std::uint64_t bytes = 0;
  for (const InputRecipe& input : recipe.inputs) bytes += input.elements * size_of(input.dtype);
  return bytes;
}

std::vector<std::vector<std::byte>> generate_inputs(const CaseRecipe& recipe) {
  std::vector<std::vector<std::byte>> contents;
  for (const InputRecipe& input : recipe.inputs) contents.emplace_back(input.elements * size_of(input.dtype));
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i) {
    const InputRecipe& input = recipe.inputs[i];
    if (input.is_scale) continue;
    const std::vector<float> values = draw(input, recipe.seed);
    if (!input.scale) {
      convert(input, values, contents[i].data());
      continue;
    }
    const InputRecipe& scale = recipe.inputs[*input.scale];
    const std::vector<float> scales = quantise(input, values, contents[i].data());
    for (std::uint64_t group = 0; group < scales.size(); ++group) {
      convert_one(scale.dtype, scales[group], contents[*input.scale].data(), group);
    }
  }
  return contents;
}

}  // namespace evo
