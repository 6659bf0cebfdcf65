#include "evaluator/kernels/device_drawer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "evaluator/base/log.h"
#include "evaluator/device/draw_steps.h"
#include "evaluator/device/inputs.h"
#include "evaluator/device/recipe_fingerprint.h"
#include "evaluator/device/regime_values.h"
#include "evaluator/device/scale_groups.h"
#include "evaluator/kernels/kernel_call.h"
#include "evaluator/numbers/elements.h"

namespace evo {
namespace {

/// Elements at either end of a drawn input that the host draws too, to see that both agree. A multiple of 16.
constexpr std::uint64_t kDrawnByBoth = 1024;
/// Tables of steps that are cheap beside any input.
constexpr std::uint64_t kSmallTable = 1 << 20;
/// In larger ones so many elements share a number.
constexpr std::uint64_t kShared = 8;

/// As draw_kernels.cu has it; the same members.
struct StepOnDevice {
  std::uint64_t kind, stream;
  double amount, share;
  std::uint64_t rows, row_stride, columns;
};

struct Ends {
  std::uint64_t from, until;
};
std::array<Ends, 2> ends_of(std::uint64_t elements) {
  const std::uint64_t last = elements > kDrawnByBoth ? (elements - kDrawnByBoth) / 16 * 16 : 0;
  return {Ends{0, std::min(elements, kDrawnByBoth)}, Ends{last, elements}};
}

/// The number of the input whose scales these are; of none: that of no input.
std::size_t scaled_by(const CaseRecipe& recipe, std::size_t number) {
  const auto found = std::ranges::find_if(recipe.inputs, [&](const InputRecipe& one) { return one.scale == number; });
  return static_cast<std::size_t>(found - recipe.inputs.begin());
}

bool is_drawn_by_formula(const InputRecipe& input) {
  std::uint64_t numbers = input.distribution == Distribution::log_normal_rows ? input.elements / input.row : 0;
  for (const InputStep& step : input.steps) numbers += table_size(step, input);
  return numbers <= std::max(kSmallTable, input.elements / kShared) && std::ranges::all_of(input.steps, has_tables);
}

/// Of those that the regime draws: whether the elements are drawn there, be they floats or codes.
bool draws_elements(const CaseRecipe& recipe, const InputRecipe& input) {
  const bool is_float = !input.scale && bits_of(input.dtype) >= 8 && input.dtype != DType::e8m0;
  const bool is_code = input.scale && !input.zero_point && !input.widened && *input.scale < recipe.inputs.size() &&
                       (input.dtype == DType::e4m3 || ((input.dtype == DType::s8 || input.dtype == DType::u8) &&
                                                       std::isfinite(static_cast<float>(input.gain))));
  return (is_float || is_code) && input.row > 0 && input.matrix >= input.row && is_drawn_by_formula(input);
}

/// Of the others.
std::optional<ElementDraw> element_draw_there(const InputRecipe& input) {
  if (input.widened.value_or(input.dtype) != input.dtype) return std::nullopt;
  auto draw = element_draw(draw_recipe(input));
  return draw && draw->dtype != DType::e2m1 && draw->dtype != DType::e8m0 ? draw : std::nullopt;
}

std::vector<std::byte> stored(DType dtype, const std::vector<Quantiser>& of_groups) {
  std::vector<std::byte> scales(bytes_for(dtype, of_groups.size()));
  for (std::size_t group = 0; group < of_groups.size(); ++group)
    store_at(dtype, scales.data(), group, static_cast<double>(of_groups[group].scale));
  return scales;
}

}  // namespace

/// What an input's kernels read beside its recipe.
struct DeviceDrawer::Tables {
  DeviceMemory steps, numbers, axes;
  std::size_t axis_count;
};

DeviceMemory DeviceDrawer::uploaded(const void* data, std::size_t bytes) const {
  DeviceMemory memory(*device_, std::max<std::size_t>(bytes, 1), "what draws inputs");
  if (bytes > 0) device_->upload(memory.address(), std::span(static_cast<const std::byte*>(data), bytes));
  return memory;
}

bool DeviceDrawer::draws(const CaseRecipe& recipe, std::size_t number) const {
  if (!why_unfit_.empty()) return false;
  const InputRecipe& input = recipe.inputs.at(number);
  if (recipe.perturbed || !input.strides.empty() || input.elements == 0) return false;
  if (!input.is_computed)
    return is_drawn_by_regime(input) ? draws_elements(recipe, input) : element_draw_there(input).has_value();
  const std::size_t codes = scaled_by(recipe, number);
  return codes < recipe.inputs.size() && !input.widened && is_drawn_by_regime(recipe.inputs[codes]) &&
         draws(recipe, codes);
}

bool DeviceDrawer::draw(const CaseRecipe& recipe, std::size_t number, DeviceAddress to) {
  const InputRecipe& input = recipe.inputs.at(number);
  if (input.is_computed) {
    const std::vector<Quantiser>* of_groups = quantisers_of(recipe, scaled_by(recipe, number));
    if (of_groups != nullptr) device_->upload(to, stored(input.dtype, *of_groups));
    return of_groups != nullptr;
  }
  if (!is_drawn_by_regime(input)) return draw_elements_there(*element_draw_there(input), input, to);
  if (!input.scale) {
    run("evo_draw", recipe, input, tables_for(input), {to});
    return as_the_host(recipe, input, {}, to);
  }
  const std::vector<Quantiser>* of_groups = quantisers_of(recipe, number);
  if (of_groups == nullptr) return false;
  const std::vector<std::byte> scales = stored(DType::f32, *of_groups);
  const DeviceMemory there = uploaded(scales.data(), scales.size());
  const Tables tables = tables_for(input);
  run("evo_encode", recipe, input, tables, {to, there.address(), tables.axes.address()});
  return as_the_host(recipe, input, *of_groups, to);
}

DeviceDrawer::Tables DeviceDrawer::tables_for(const InputRecipe& input) const {
  std::vector<double> numbers = row_factors(input);
  std::vector<StepOnDevice> steps;
  for (const InputStep& step : input.steps) {
    const StepTables of = tables_of(step, input);
    const std::uint64_t rows = numbers.size(), columns = rows + of.rows.size();
    steps.push_back({static_cast<std::uint64_t>(step.step), step.stream, step.amount, step.share, rows,
                     of.rows.size() > 2 ? std::uint64_t{1} : 0, columns});
    numbers.insert(numbers.end(), of.rows.begin(), of.rows.end());
    numbers.insert(numbers.end(), of.columns.begin(), of.columns.end());
  }
  std::vector<ScaleGroups::Axis> axes;
  if (input.scale) axes = ScaleGroups(input.dims, input.scale_dims).axes();
  return {uploaded(steps.data(), steps.size() * sizeof(StepOnDevice)),
          uploaded(numbers.data(), numbers.size() * sizeof(double)),
          uploaded(axes.data(), axes.size() * sizeof(ScaleGroups::Axis)), axes.size()};
}

const std::vector<Quantiser>* DeviceDrawer::quantisers_of(const CaseRecipe& recipe, std::size_t codes) {
  if (std::string of = fingerprint(recipe); of != quantised_) {
    quantised_ = std::move(of);
    quantisers_.clear();
  }
  if (const auto found = quantisers_.find(codes); found != quantisers_.end()) return &found->second;
  const InputRecipe& input = recipe.inputs.at(codes);
  std::vector<float> largest(ScaleGroups(input.dims, input.scale_dims).count());
  const DeviceMemory there = uploaded(largest.data(), largest.size() * sizeof(float));
  const Tables tables = tables_for(input);
  run("evo_largest", recipe, input, tables, {there.address(), tables.axes.address()});
  device_->download(std::as_writable_bytes(std::span(largest)), there.address());
  std::vector<Quantiser> of_groups;
  of_groups.reserve(largest.size());
  for (const float most : largest) of_groups.push_back(quantiser_of(recipe, input, -most, most));
  if (!scales_as_the_host(recipe, input, of_groups)) return nullptr;
  return &quantisers_.emplace(codes, std::move(of_groups)).first->second;
}

void DeviceDrawer::run(const char* kernel, const CaseRecipe& recipe, const InputRecipe& input, const Tables& tables,
                       std::vector<DeviceAddress> addresses) const {
  addresses.insert(addresses.end(), {tables.steps.address(), tables.numbers.address()});
  run_kernel(*device_, *module_, kernel, blocks_for(input.elements, std::uint64_t{4} * kKernelThreads),
             std::move(addresses),
             fields(input.elements, input.row, input.matrix, input.group, input.stream, recipe.seed,
                    distinct_elements(recipe, input), std::uint64_t{0}, input.gain, largest_stepped(input),
                    largest_move(input), static_cast<int>(input.distribution), static_cast<int>(input.dtype),
                    static_cast<int>(stored_dtype(input)), int{input.is_lesser}, static_cast<int>(input.steps.size()),
                    static_cast<int>(tables.axis_count)));
}

bool DeviceDrawer::draw_elements_there(const ElementDraw& draw, const InputRecipe& input, DeviceAddress to) {
  run_kernel(*device_, *module_, "evo_draw_elements", blocks_for(draw.elements, kKernelThreads), {to},
             fields(draw.elements, draw.row, draw.stream, draw.first, draw.count, draw.ties, draw.most_zeros,
                    draw.begin, draw.width, draw.powers, draw.least, draw.most, static_cast<int>(draw.kind),
                    static_cast<int>(draw.source), static_cast<int>(draw.dtype)));
  return as_the_host(input, draw.dtype, draw.elements, to,
                     [&](const Ends& ends, std::byte* wanted) { draw_elements(draw, ends.from, ends.until, wanted); });
}

bool DeviceDrawer::as_the_host(const CaseRecipe& recipe, const InputRecipe& input,
                               const std::vector<Quantiser>& of_groups, DeviceAddress drawn) {
  return as_the_host(input, stored_dtype(input), distinct_elements(recipe, input), drawn,
                     [&](const Ends& ends, std::byte* wanted) {
                       if (!input.scale) return draw_part(recipe, input, ends.from, ends.until, wanted);
                       std::vector<float> values(ends.until - ends.from);
                       draw_values(input, recipe.seed, ends.from, ends.until, values.data());
                       encode(input, of_groups, ends.from, ends.until, values.data(), wanted, 0);
                     });
}

template <class Draw>
bool DeviceDrawer::as_the_host(const InputRecipe& input, DType dtype, std::uint64_t elements, DeviceAddress drawn,
                               Draw draw) {
  for (const Ends& ends : ends_of(elements)) {
    std::vector<std::byte> wanted(bytes_for(dtype, ends.until - ends.from)), found(wanted.size());
    draw(ends, wanted.data());
    device_->download(found, drawn + bytes_for(dtype, ends.from));
    if (found != wanted) return draw_no_more(input), false;
  }
  return true;
}

/// A group may have further elements elsewhere: then its scale is that of the host's values or a larger one.
bool DeviceDrawer::scales_as_the_host(const CaseRecipe& recipe, const InputRecipe& input,
                                      const std::vector<Quantiser>& of_groups) {
  const ScaleGroups groups(input.dims, input.scale_dims);
  std::uint64_t of_group = 1;
  for (const ScaleGroups::Axis& axis : groups.axes()) of_group *= axis.length;
  for (const Ends& ends : ends_of(distinct_elements(recipe, input))) {
    std::vector<float> values(ends.until - ends.from);
    draw_values(input, recipe.seed, ends.from, ends.until, values.data());
    std::map<std::uint64_t, std::pair<float, std::uint64_t>> largest;  // And how many elements of the group.
    groups.visit_runs(ends.from, ends.until, [&](std::uint64_t group, std::uint64_t first, std::uint64_t last) {
      auto& [most, count] = largest[group];
      for (std::uint64_t i = first; i < last; ++i) most = std::max(most, std::fabs(values[i - ends.from]));
      count += last - first;
    });
    for (const auto& [group, part] : largest) {
      const float host = quantiser_of(recipe, input, -part.first, part.first).scale, there = of_groups[group].scale;
      if (part.second >= of_group ? host != there : part.first > 0 && host > there) return draw_no_more(input), false;
    }
  }
  return true;
}

void DeviceDrawer::draw_no_more(const InputRecipe& differs) {
  why_unfit_ = fmt::format("{} draws other numbers for input {} than the host", device_->info().id, differs.name);
  log_line(LogLevel::warning, [&] { return why_unfit_; });
}

}  // namespace evo
