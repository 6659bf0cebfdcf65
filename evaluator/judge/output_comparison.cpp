#include "evaluator/judge/output_comparison.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/task/scope.h"
#include "evaluator/device/scale_groups.h"
#include "evaluator/device/strided_layout.h"
#include "evaluator/numbers/elements.h"

namespace evo {
namespace {

/// Dense elements of one tensor.
struct Dense {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;
};

std::vector<std::uint64_t> sizes_of(const Tensor& tensor, const Bindings& known, std::size_t rank = 0) {
  std::vector<std::uint64_t> sizes;
  for (const std::int64_t dim : dims_of(tensor, known)) sizes.push_back(static_cast<std::uint64_t>(dim));
  sizes.resize(std::max(rank, sizes.size()), 1);
  return sizes;
}

/// Codes times their scales, as f32. `zero_points`: null for none.
Dense dequantised(const Dense& codes, std::vector<std::uint64_t> dims, const Dense& scales, const Dense* zero_points,
                  std::span<const std::uint64_t> scale_dims) {
  dims.resize(scale_dims.size(), 1);
  const ScaleGroups groups(dims, scale_dims);
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  std::vector<float> values(count);
  groups.visit_runs(0, count, [&](std::uint64_t group, std::uint64_t begin, std::uint64_t end) {
    const double scale = as_double(load_at(scales.dtype, scales.bytes.data(), group));
    const double zero = zero_points ? as_double(load_at(zero_points->dtype, zero_points->bytes.data(), group)) : 0;
    for (std::uint64_t i = begin; i < end; ++i)
      values[i] = static_cast<float>((as_double(load_at(codes.dtype, codes.bytes.data(), i)) - zero) * scale);
  });
  Dense real{DType::f32, std::vector<std::byte>(count * sizeof(float))};
  std::memcpy(real.bytes.data(), values.data(), real.bytes.size());
  return real;
}

/// The drawn elements of an input of a case.
Dense input_of(const Task& task, const Case& one, const std::string& name) {
  const std::vector<std::vector<std::byte>> contents = generate_inputs(one.recipe);
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    const InputRecipe& recipe = one.recipe.inputs[i];
    if (recipe.name != name) continue;
    if (recipe.strides.empty()) return {recipe.dtype, contents[i]};
    return {recipe.dtype, StridedLayout(recipe.dims, recipe.strides).gather(contents[i], size_of(recipe.dtype))};
  }
  throw machine_error("the case has no input " + name);
}

/// An index of another element of the same value becomes the oracle's, so that the two are equal. One that a row names
/// twice does not: the k largest elements are k different ones.
void accept_equal_elements(const Dense& among, std::uint64_t row, std::uint64_t indices, const ExpectedOutput& want,
                           Dense& got) {
  const std::uint64_t count = want.bytes.size() / size_of(want.dtype);
  for (std::uint64_t begin = 0; begin < count; begin += indices) {
    std::set<std::int64_t> named;
    const std::uint64_t first = begin / indices * row;
    for (std::uint64_t i = begin; i < std::min(begin + indices, count); ++i) {
      const auto index = static_cast<std::int64_t>(as_double(load_at(got.dtype, got.bytes.data(), i)));
      const auto right = static_cast<std::int64_t>(as_double(load_at(want.dtype, want.bytes.data(), i)));
      const bool inside = index >= 0 && static_cast<std::uint64_t>(index) < row;
      if (!named.insert(index).second || !inside) continue;
      const auto value = [&](std::int64_t at) {
        return exact(load_at(among.dtype, among.bytes.data(), first + static_cast<std::uint64_t>(at)));
      };
      if (value(index) == value(right)) store_at(got.dtype, got.bytes.data(), i, right);
    }
  }
}

/// Every output by its name. The only one of a plan is not copied.
std::map<std::string, Dense> separated(const Plan& plan, std::vector<std::byte> outputs) {
  std::map<std::string, Dense> written;
  std::size_t offset = 0;
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.output || tensor.bytes == 0) continue;
    Dense& dense = written[tensor.name];
    dense.dtype = tensor.dtype;
    if (tensor.strides.empty() && tensor.bytes == outputs.size())
      dense.bytes = std::move(outputs);
    else
      dense.bytes = dense_bytes(tensor, std::span(outputs).subspan(offset, tensor.bytes));
    offset += tensor.bytes;
  }
  return written;
}

/// Whether an output holds the scales or zero points of another one.
bool scales_another(const Task& task, const std::string& name) {
  return std::ranges::any_of(task.outputs,
                             [&](const Tensor& output) { return output.scale == name || output.zero_point == name; });
}

}  // namespace

std::uint64_t output_elements(const Tensor& output, const Bindings& options, const Shape& shape) {
  const Bindings known = joined(options, shape.parameters);
  std::uint64_t elements = 1;
  for (const std::int64_t dim : dims_of(output, known)) elements *= static_cast<std::uint64_t>(dim);
  return elements;
}

std::uint64_t row_of(const Task& task, const Bindings& options, const Shape& shape, std::size_t output) {
  const Bindings known = joined(options, shape.parameters);
  std::vector<Tensor> present;
  std::ranges::copy_if(task.outputs, std::back_inserter(present),
                       [&](const Tensor& tensor) { return is_present(tensor, options); });
  const std::vector<std::int64_t> dims = dims_of(present.at(output), known);
  return dims.empty() ? 1 : static_cast<std::uint64_t>(dims.back());
}

ComparedFor compared_for(const Limits& limits, std::uint64_t row) {
  return {.row = limits.row_l2 > 0 ? row : 0,
          .exact = limits.exact,
          .elementwise = limits.atol > 0 || limits.rtol > 0,
          .atol = limits.atol,
          .rtol = limits.rtol,
          .steps = limits.off_by_one > 0,
          .change = limits.change > 0};
}

std::vector<ComparedOutput> compare_outputs(const Task& task, const Bindings& options, const Case& one,
                                            const Plan& plan, const Expected& expected, std::vector<std::byte> outputs,
                                            const std::function<Limits(const Tensor&)>& limits_of) {
  const Bindings known = joined(options, one.shape.parameters);
  std::map<std::string, Dense> written = separated(plan, std::move(outputs));
  std::vector<ComparedOutput> compared;
  std::size_t number = 0;
  for (const Tensor& tensor : task.outputs) {
    if (!is_present(tensor, options)) continue;
    const ExpectedOutput& want = expected.at(number++);
    Dense& codes = written.at(tensor.name);
    Dense got = scales_another(task, tensor.name) ? codes : std::move(codes);
    const std::vector<std::uint64_t> dims = sizes_of(tensor, known);
    if (!tensor.scale.empty()) {
      const std::vector<std::uint64_t> scale_dims = sizes_of(*task.tensor(tensor.scale), known, dims.size());
      const Dense* zero_points = tensor.zero_point.empty() ? nullptr : &written.at(tensor.zero_point);
      got = dequantised(got, dims, written.at(tensor.scale), zero_points, scale_dims);
    }
    const std::uint64_t row = dims.empty() ? 1 : dims.back();
    ComparedOutput result{tensor.name, limits_of(tensor), {}};
    result.difference = compare(got.dtype, got.bytes, want, result.limits, row);
    if (!tensor.any_of_equal.empty() && result.difference.unequal > 0) {
      const std::vector<std::uint64_t> among = sizes_of(*task.tensor(tensor.any_of_equal), known);
      // One index for each row of the input: a tensor of one dim less than the input has no dim for them.
      const bool single = dims.size() < among.size();
      accept_equal_elements(input_of(task, one, tensor.any_of_equal), among.back(), single ? 1 : row, want, got);
      result.difference = compare(got.dtype, got.bytes, want, result.limits, row);
    }
    result.got_dtype = got.dtype;
    result.got = std::move(got.bytes);
    result.want = &want;
    result.elements = std::accumulate(dims.begin(), dims.end(), std::uint64_t{1}, std::multiplies());
    result.rows = row > 0 ? result.elements / row : 0;
    compared.push_back(std::move(result));
  }
  return compared;
}

}  // namespace evo
