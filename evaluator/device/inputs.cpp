#include "evaluator/device/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "engine/base/error.h"
#include "evaluator/base/parallel.h"
#include "evaluator/device/draws.h"
#include "evaluator/device/quantisation.h"
#include "evaluator/device/regime_values.h"
#include "evaluator/device/strided_layout.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/numbers/numpy.h"

namespace evo {
namespace {

/// Elements after which a repeating input begins again; a multiple of kDrawnAtOnce.
constexpr std::uint64_t kPeriod = 1 << 20;

std::vector<float> values_of(const CaseRecipe& recipe, const InputRecipe& input) {
  std::vector<float> values(input.elements);
  const std::uint64_t count = distinct_elements(recipe, input);
  parallel_chunks(count, kDrawnAtOnce, [&](std::uint64_t begin, std::uint64_t end) {
    draw_values(input, recipe.seed, begin, end, values.data() + begin);
  });
  for (std::uint64_t i = count; i < input.elements; ++i) values[i] = values[i - count];
  return values;
}

/// A double has 29 bits more than the float that was drawn: without them a kernel that computes in f32 would be exact.
double with_low_bits(const InputRecipe& recipe, float value, std::uint64_t index) {
  const double share =
      (static_cast<double>(random_word(recipe, InputPurpose::low_bits, index)) + 0.5) * 0x1.0p-32 - 0.5;
  return static_cast<double>(value) * (1 + share * 0x1.0p-23);
}

/// The same as its dtype.
void draw_codes(const CaseRecipe& recipe, const InputRecipe& input, std::uint64_t begin, std::uint64_t end,
                std::byte* to) {
  std::vector<float> values(end - begin);
  draw_values(input, recipe.seed, begin, end, values.data());
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    if (input.dtype == DType::f64) {
      store_at(DType::f64, to, i, with_low_bits(input, values[i], begin + i));
    } else {
      store_rounded(input.dtype, values[i], to, i);
    }
  }
}

/// Draws the elements of an input without scales as its dtype.
void draw_codes(const CaseRecipe& recipe, const InputRecipe& input, std::span<std::byte> to) {
  const std::uint64_t count = distinct_elements(recipe, input);
  parallel_chunks(count, kDrawnAtOnce, [&](std::uint64_t begin, std::uint64_t end) {
    draw_codes(recipe, input, begin, end, to.data() + bytes_for(input.dtype, begin));
  });
  const std::size_t period = bytes_for(input.dtype, count);
  for (std::size_t at = period; at < to.size(); at += period)
    std::ranges::copy(to.first(std::min(period, to.size() - at)), to.begin() + static_cast<std::ptrdiff_t>(at));
}

void widen(const InputRecipe& recipe, std::uint64_t elements, const std::byte* dense, std::byte* to) {
  parallel_chunks(elements, kDrawnAtOnce, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) store_at(*recipe.widened, to, i, load_at(recipe.dtype, dense, i));
  });
}

std::vector<std::byte> widened(const InputRecipe& recipe, const std::vector<std::byte>& dense) {
  std::vector<std::byte> wide(bytes_for(*recipe.widened, recipe.elements));
  widen(recipe, recipe.elements, dense.data(), wide.data());
  return wide;
}

/// Flips the last bit of every second element or so.
void perturb(const InputRecipe& recipe, std::vector<std::byte>& dense) {
  const std::size_t size = size_of(recipe.dtype);  // The bytes of a number begin with its lowest.
  parallel_chunks(recipe.elements, kDrawnAtOnce, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      dense[i * size] ^= std::byte{static_cast<unsigned char>(random_word(recipe, InputPurpose::perturbation, i) & 1U)};
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

/// Those inputs that are wanted; all else stays empty. Who wants codes wants their scales and zero points.
template <typename Wanted>
std::vector<std::vector<std::byte>> generate(const CaseRecipe& recipe, Wanted wanted) {
  std::vector<std::vector<std::byte>> contents(recipe.inputs.size());
  for (std::size_t i = 0; i < contents.size(); ++i)
    if (wanted(i)) contents[i].resize(bytes_for(recipe.inputs[i].dtype, recipe.inputs[i].elements));
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i) {
    const InputRecipe& input = recipe.inputs[i];
    if (input.is_computed || contents[i].empty()) continue;
    if (input.draw == DrawKind::file) {
      contents[i] = content_of_file(input);
    } else if (!is_drawn_by_regime(input)) {
      draw_elements(draw_recipe(input), contents[i].data());
    } else if (input.scale) {
      quantise(recipe, input, values_of(recipe, input), contents, contents[i].data());
    } else {
      draw_codes(recipe, input, contents[i]);
    }
  }
  if (recipe.perturbed)
    for (std::size_t i = 0; i < recipe.inputs.size(); ++i)
      if (can_be_perturbed(recipe.inputs[i]) && !contents[i].empty()) perturb(recipe.inputs[i], contents[i]);
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i)
    if (recipe.inputs[i].widened && !contents[i].empty()) contents[i] = widened(recipe.inputs[i], contents[i]);
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i)
    if (!recipe.inputs[i].strides.empty() && !contents[i].empty())
      contents[i] = with_strides(recipe.inputs[i], contents[i]);
  return contents;
}

}  // namespace

DrawRecipe draw_recipe(const InputRecipe& recipe) {
  return {recipe.name, recipe.dtype,   recipe.elements,     recipe.row,
          recipe.draw, recipe.numbers, recipe.distribution, recipe.stream};
}

void draw_part(const CaseRecipe& recipe, const InputRecipe& input, std::uint64_t begin, std::uint64_t end,
               std::byte* to) {
  if (!input.widened) return draw_codes(recipe, input, begin, end, to);
  std::vector<std::byte> narrow(bytes_for(input.dtype, end - begin));
  draw_codes(recipe, input, begin, end, narrow.data());
  widen(input, end - begin, narrow.data(), to);
}

std::uint64_t distinct_elements(const CaseRecipe& recipe, const InputRecipe& input) {
  return recipe.repeating ? std::min(input.elements, kPeriod) : input.elements;
}

std::vector<std::vector<std::byte>> generate_inputs(const CaseRecipe& recipe) {
  return generate(recipe, [](std::size_t) { return true; });
}

std::vector<std::vector<std::byte>> generate_input(const CaseRecipe& recipe, std::size_t number) {
  const auto first = std::ranges::find_if(
      recipe.inputs, [&](const InputRecipe& input) { return input.scale == number || input.zero_point == number; });
  const InputRecipe& drawn = first == recipe.inputs.end() ? recipe.inputs.at(number) : *first;
  return generate(
      recipe, [&](std::size_t i) { return &recipe.inputs[i] == &drawn || drawn.scale == i || drawn.zero_point == i; });
}

}  // namespace evo
