#include "evaluator/kernels/device_drawer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
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

/// Elements at either end of a drawn input that the host draws too, to see that both agree. A multiple of 4.
constexpr std::uint64_t kDrawnByBoth = 1024;
/// Tables of steps that are cheap beside any input.
constexpr std::uint64_t kSmallTable = 1 << 20;
/// In larger ones so many elements share a number.
constexpr std::uint64_t kShared = 8;

/// As draw_kernels.cu has it; the same members.
struct StepOnDevice {
  std::uint64_t kind, stream;
  double amount, share;
  std::uint64_t rows, row_stride, columns, column_stride, matrix_stride;
};

struct Ends {
  std::uint64_t from, until;
};
std::array<Ends, 2> ends_of(std::uint64_t elements) {
  const std::uint64_t last = elements > kDrawnByBoth ? (elements - kDrawnByBoth) / 4 * 4 : 0;
  return {Ends{0, std::min(elements, kDrawnByBoth)}, Ends{last, elements}};
}

/// The number of the input whose scales these are; of none: that of no input.
std::size_t scaled_by(const CaseRecipe& recipe, std::size_t number) {
  const auto found = std::ranges::find_if(recipe.inputs, [&](const InputRecipe& one) { return one.scale == number; });
  return static_cast<std::size_t>(found - recipe.inputs.begin());
}

bool is_drawn_by_formula(const InputRecipe& input) {
  // Those take the host's mathematical library, or tables.
  if (input.distribution == Distribution::log_normal_rows || input.distribution == Distribution::ties) return false;
  const std::uint64_t rows = input.elements / input.row, columns = input.elements / (input.matrix / input.row);
  const bool tables_are_small = std::max(rows, columns) <= std::max(kSmallTable, input.elements / kShared);
  return input.steps.empty() || (tables_are_small && std::ranges::all_of(input.steps, has_tables));
}

/// Whether the elements are drawn there, be they floats or codes.
bool draws_elements(const CaseRecipe& recipe, const InputRecipe& input) {
  const bool is_dense = !recipe.perturbed && !input.is_computed && !input.widened && input.strides.empty() &&
                        input.elements > 0 && input.row > 0 && input.matrix >= input.row;
  const bool is_float =
      !input.scale && (input.dtype == DType::f32 || input.dtype == DType::f16 || input.dtype == DType::bf16);
  const bool is_code = input.scale && !input.zero_point && *input.scale < recipe.inputs.size() &&
                       (input.dtype == DType::e4m3 || ((input.dtype == DType::s8 || input.dtype == DType::u8) &&
                                                       std::isfinite(static_cast<float>(input.gain))));
  return is_dense && (is_float || is_code) && is_drawn_by_regime(input) && is_drawn_by_formula(input);
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
  if (!input.is_computed) return draws_elements(recipe, input);
  const std::size_t codes = scaled_by(recipe, number);
  return codes < recipe.inputs.size() && input.strides.empty() && !input.widened &&
         draws_elements(recipe, recipe.inputs[codes]);
}

bool DeviceDrawer::draw(const CaseRecipe& recipe, std::size_t number, DeviceAddress to) {
  const InputRecipe& input = recipe.inputs.at(number);
  if (input.is_computed) {
    const std::vector<Quantiser>* of_groups = quantisers_of(recipe, scaled_by(recipe, number));
    if (of_groups != nullptr) device_->upload(to, stored(input.dtype, *of_groups));
    return of_groups != nullptr;
  }
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
  std::vector<double> numbers = {0, 1, 0};  // Where no table is: of columns, and of rows.
  std::vector<StepOnDevice> steps;
  for (const InputStep& step : input.steps) {
    const StepTables of = tables_of(step, input);
    StepOnDevice one{static_cast<std::uint64_t>(step.step),
                     step.stream,
                     step.amount,
                     step.share,
                     numbers.size(),
                     of.rows.size() > 2 ? std::uint64_t{1} : 0,
                     0,
                     0,
                     of.by_matrix ? input.row : 0};
    numbers.insert(numbers.end(), of.rows.begin(), of.rows.end());
    if (!of.columns.empty()) {
      one.columns = numbers.size();
      one.column_stride = 1;
      numbers.insert(numbers.end(), of.columns.begin(), of.columns.end());
    }
    steps.push_back(one);
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
                    distinct_elements(recipe, input), input.gain, largest_stepped(input), largest_move(input),
                    static_cast<int>(input.distribution), static_cast<int>(input.dtype),
                    static_cast<int>(input.steps.size()), static_cast<int>(tables.axis_count)));
}

bool DeviceDrawer::as_the_host(const CaseRecipe& recipe, const InputRecipe& input,
                               const std::vector<Quantiser>& of_groups, DeviceAddress drawn) {
  for (const auto& [from, until] : ends_of(distinct_elements(recipe, input))) {
    std::vector<float> values(until - from);
    draw_values(input, recipe.seed, from, until, values.data());
    std::vector<std::byte> wanted(bytes_for(input.dtype, until - from)), found(wanted.size());
    if (input.scale) {
      encode(input, of_groups, from, until, values.data(), wanted.data(), 0);
    } else {
      for (std::uint64_t i = 0; i < values.size(); ++i) store_rounded(input.dtype, values[i], wanted.data(), i);
    }
    device_->download(found, drawn + bytes_for(input.dtype, from));
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
