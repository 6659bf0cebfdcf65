#include "judged_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/record/enumerators.h"
#include "evaluator/base/random.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/device/pristine_inputs.h"
#include "evaluator/judge/output_comparison.h"
#include "evaluator/numbers/elements.h"

namespace evo::testing {
namespace {

double random_normal(std::uint64_t seed, std::uint64_t i) {
  return normal_from_word(philox(seed, {static_cast<std::uint32_t>(i), 0, 0, 0})[0]);
}

/// An answer, what a kernel may give, and its limits.
struct Compared {
  DType got_dtype, want_dtype;
  std::vector<std::byte> got, want;
  std::uint64_t row;
  Limits limits;
  CaseRecipe before;  ///< Draws what the output holds before the call, where its change counts.
};

/// NaNs and infinities: most the reference's own, in one case of three some that it lacks.
void add_infinities(Compared& one, std::uint64_t number, std::uint64_t elements) {
  const std::array<double, 3> kValues = {std::nan(""), HUGE_VAL, -HUGE_VAL};
  for (std::uint64_t i = number % 5; i < elements; i += 7) {
    const double value = kValues.at((i + number) % kValues.size());
    store_at(one.want_dtype, one.want.data(), i, value);
    store_at(one.got_dtype, one.got.data(), i, number % 3 == 0 && i % 2 == 0 ? 1.0 : value);
  }
}

Compared compared_case(std::uint64_t number) {
  constexpr DType kFormats[] = {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::f64,
                                DType::s32, DType::u8,  DType::s64,  DType::s16,  DType::u32};
  const DType got = kFormats[number % std::size(kFormats)];
  const bool whole = is_integer(got);
  Compared one{got, whole ? got : got == DType::f64 ? DType::f64 : DType::f32, {}, {}, 1 + number * 7 % 70, {}};
  const std::uint64_t elements = one.row * (1 + number * 13 % 90);
  one.got.resize(bytes_for(got, elements));
  one.want.resize(bytes_for(one.want_dtype, elements));
  const double error = number % 5 == 0 ? 0 : std::pow(10.0, -static_cast<double>(number % 4));
  const auto number_of = [&](double value) {
    return whole ? Number(static_cast<std::int64_t>(std::fabs(std::round(value)))) : Number(value);
  };
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double want = (whole ? 50 : 1) * random_normal(number, i), off = error * random_normal(number + 1000, i);
    store_at(one.want_dtype, one.want.data(), i, number_of(want));
    store_at(got, one.got.data(), i, number_of(want + off));
  }
  if (number % 17 == 3 && !whole)  // Never written.
    std::memset(one.got.data() + size_of(got) * (elements / 2), 0xff, size_of(got));
  one.limits.relative_l2 = 0.01;
  one.limits.cosine = 0.999;
  one.limits.max_abs = number % 3 == 0 ? 0.1 : 0;
  one.limits.row_l2 = number % 2 == 0 ? 0.02 : 0;
  one.limits.exact = number % 7 < 2;
  if (number % 4 == 3 && !whole) add_infinities(one, number, elements);
  one.limits.change = number % 5 < 2 && !whole ? 0.05 : 0;
  one.before = {.seed = number,
                .inputs = {{"y", got, elements, one.row, elements, elements, Distribution::normal, 1, number}}};
  one.limits.atol = number % 6 == 1 ? 0.01 : 0;
  one.limits.rtol = number % 6 < 2 ? 0.05 : 0;
  one.limits.off_by_one = number % 4 == 2 ? 0.3 : 0;
  return one;
}

BufferSet set_of(Device& device, DType dtype, const std::vector<std::byte>& bytes, bool inout = false) {
  BufferSet set(device, {{.name = "y", .dtype = dtype, .bytes = bytes.size(), .output = true, .inout = inout}});
  device.upload(set.addresses().tensors.front(), bytes);
  return set;
}

bool is_close(double found, double wanted) {
  return std::fabs(found - wanted) <= std::max(1e-12 * std::fabs(wanted), 1e-15);
}

/// Empty where device and host agree: counts and largest errors bit for bit, sums as closely as their order allows.
std::string difference_between(const Difference& there, const Difference& host, const Limits& limits) {
  const auto miss = miss_of(there, limits), host_miss = miss_of(host, limits);
  if (there.elements != host.elements) return fmt::format("{} elements, not {}", there.elements, host.elements);
  if ((there.not_finite > 0) != (host.not_finite > 0)) return "finite elements";
  if (miss.has_value() != host_miss.has_value()) return "the verdict";
  if (host.not_finite > 0) return {};
  if (miss && miss->kind != host_miss->kind) return "the broken limit";
  const std::pair<double, double> sums[] = {{there.relative_l2, host.relative_l2},
                                            {there.cosine, host.cosine},
                                            {there.want_rms, host.want_rms},
                                            {there.row_l2, host.row_l2},
                                            {there.max_abs, host.max_abs},
                                            {there.rows_that_count, host.rows_that_count},
                                            {there.worst_element, host.worst_element},
                                            {there.change, host.change}};
  for (const auto& [found, wanted] : sums)
    if (!is_close(found, wanted)) return fmt::format("{} in place of {}", found, wanted);
  const std::pair<std::uint64_t, std::uint64_t> counts[] = {{there.unequal, host.unequal},
                                                            {there.first_unequal, host.first_unequal},
                                                            {there.beyond, host.beyond},
                                                            {there.first_beyond, host.first_beyond},
                                                            {there.off_by_one, host.off_by_one},
                                                            {there.further_off, host.further_off},
                                                            {there.first_further_off, host.first_further_off}};
  for (const auto& [found, wanted] : counts)
    if (found != wanted) return fmt::format("the count or place {} in place of {}", found, wanted);
  return {};
}

}  // namespace

DeviceJudge judge_on(Device& device) {
  const SourceRequest request = compile_request(judge_program(), device.info().arch);
  const auto compiled = make_nvrtc_compiler()->compile(request);
  if (const auto* failure = std::get_if<Failure>(&compiled)) throw std::logic_error(failure->reason + failure->log);
  std::optional<Failure> failure;
  auto module = device.load(std::get<Binary>(compiled), failure);
  if (failure) throw std::logic_error(failure->reason);
  return {device, std::move(module)};
}

JudgedCases compare_both(Device& device, DeviceJudge& judge, int cases) {
  JudgedCases result;
  for (int number = 0; number < cases && result.difference.empty(); ++number, ++result.cases) {
    const Compared one = compared_case(static_cast<std::uint64_t>(number));
    judge.keep_answer("case", set_of(device, one.want_dtype, one.want));
    const ComparedFor what =
        compared_for(one.limits, one.want.size() / size_of(one.want_dtype) > one.row ? one.row : 0);
    const PristineInputs before(device, one.before, 64);
    const auto sums = judge.compare("case", set_of(device, one.got_dtype, one.got, true), std::span(&what, 1), &before);
    const Difference there = evo::difference_of(sums.at(0), one.got_dtype);
    CaseRecipe widened = one.before;
    widened.inputs.front().widened = one.want_dtype;
    const ExpectedOutput want{one.want_dtype, one.want, generate_inputs(widened).front()};
    const Difference host = compare(one.got_dtype, one.got, want, one.limits, one.row);
    if (!miss_of(host, one.limits)) ++result.passed;
    if (const std::string what_differs = difference_between(there, host, one.limits); !what_differs.empty())
      result.difference = fmt::format("case {} ({}): {}", number, name_of(one.got_dtype), what_differs);
  }
  return result;
}

CaseRecipe recipe_of(Distribution distribution, DType dtype, double gain, std::uint64_t seed) {
  CaseRecipe recipe;
  recipe.seed = seed;
  recipe.inputs = {{"x", dtype, 6 * 35 * 11, 35, 35 * 11, 35 * 11, distribution, gain, 12345 + seed}};
  return recipe;
}

CaseRecipe coded(CaseRecipe recipe, std::uint64_t number) {
  constexpr std::array<std::array<std::uint64_t, 3>, 5> kGroups = {
      {{6, 11, 4}, {6, 11, 1}, {6, 6, 1}, {6, 1, 1}, {1, 1, 1}}};
  InputRecipe& codes = recipe.inputs.front();
  const auto& groups = kGroups.at(number % kGroups.size());
  codes.dims = {6, 11, 35};
  codes.scale_dims = {groups.begin(), groups.end()};
  codes.scale = 1;
  codes.unit_scale = number % 11 == 10;
  InputRecipe scales{"scales", DType::f32, groups[0] * groups[1] * groups[2]};
  scales.is_computed = true;
  recipe.inputs.push_back(scales);
  return recipe;
}

namespace {

std::vector<CaseRecipe> drawn_recipes() {
  std::vector<CaseRecipe> recipes;
  const auto add = [&](const CaseRecipe& recipe, std::uint64_t number) {
    const DType dtype = recipe.inputs.front().dtype;
    recipes.push_back(bits_of(dtype) == 8 ? coded(recipe, number) : recipe);
  };
  for (std::size_t kind = 0; kind < kEnumerators<Distribution>; ++kind) {
    const auto of_kind = [&](DType dtype) {
      return recipe_of(static_cast<Distribution>(kind), dtype, kind % 2 == 0 ? 7.3 : 150.7, kind % 3);
    };
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::s8, DType::u8})
      add(of_kind(dtype), recipes.size());
    for (const DType dtype : {DType::f64, DType::e4m3, DType::e5m2}) recipes.push_back(of_kind(dtype));
    recipes.push_back(of_kind(kind % 2 == 0 ? DType::f16 : DType::e5m2));
    recipes.back().inputs.front().widened = DType::f32;
    recipes.push_back(of_kind(DType::bf16));
    recipes.back().inputs.front().is_lesser = true;
  }
  for (std::size_t kind = 0; kind < kEnumerators<StepKind>; ++kind)
    for (const DType dtype : {DType::f16, DType::e4m3}) {
      CaseRecipe recipe = recipe_of(Distribution::normal, dtype, 1, kind);
      recipe.inputs.front().steps = {{static_cast<StepKind>(kind), 2.5, 0.3, 77 + kind},
                                     {StepKind::rounded, 0.25, 0, 0}};
      add(recipe, recipes.size());
    }
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::e4m3})
    add(recipe_of(Distribution::spikes, dtype, 1e39, 1), recipes.size());    // Infinities; their codes are NaN.
  recipes.push_back(recipe_of(Distribution::sparse, DType::bf16, 1e39, 1));  // NaNs.
  CaseRecipe repeating = recipe_of(Distribution::outliers, DType::bf16, 9, 1);
  repeating.inputs.front().elements = 2850 * 385;
  repeating.repeating = true;
  recipes.push_back(repeating);
  return recipes;
}

}  // namespace

/// Inputs that no regime draws: each kind of draw, in every dtype and regime.
std::vector<CaseRecipe> further_recipes() {
  const std::int64_t least = INT64_MIN, greatest = INT64_MAX, one = 1;
  const std::pair<DrawKind, std::vector<Number>> kKinds[] = {
      {DrawKind::automatic, {}},
      {DrawKind::constant, {}},
      {DrawKind::constant, {-0.0}},
      {DrawKind::constant, {std::int64_t{7}}},
      {DrawKind::iota, {std::int64_t{90}, std::int64_t{-1}}},
      {DrawKind::iota, {0.3, 0.1}},
      {DrawKind::uniform, {std::int64_t{0}, std::int64_t{100}}},
      {DrawKind::uniform, {-0.7, 3e5}},
      {DrawKind::uniform, {1e-300, 1e300}},
      {DrawKind::normal, {std::int64_t{50}, std::int64_t{7}}},
      {DrawKind::normal, {0.1, 1e-40}},
      {DrawKind::normal, {0.0, 1e-7}},
      {DrawKind::non_negative, {}},
      {DrawKind::integers, {std::int64_t{-3}, std::int64_t{100}}},
      {DrawKind::integers, {std::int64_t{0}, std::int64_t{70000}}},
      {DrawKind::integers, {least, greatest}},
      {DrawKind::indices, {one}},
      {DrawKind::permutation, {}},
      {DrawKind::offsets, {std::int64_t{99}}},
      {DrawKind::bits, {}}};
  std::vector<CaseRecipe> recipes;
  for (const auto& [kind, numbers] : kKinds)
    for (std::size_t dtype = 0; dtype < kEnumerators<DType>; ++dtype) {
      constexpr Distribution kRegimes[] = {
          Distribution::normal,        Distribution::all_equal, Distribution::constant_rows, Distribution::ties,
          Distribution::max_magnitude, Distribution::extremes,  Distribution::sorted};
      for (const Distribution regime : kRegimes) {
        CaseRecipe recipe = recipe_of(regime, static_cast<DType>(dtype), 1, recipes.size());
        InputRecipe& input = recipe.inputs.front();
        input.elements = 1500 + recipes.size() % 9;
        input.draw = kind;
        input.numbers = numbers;
        if (is_drawn_by_regime(input)) break;
        recipes.push_back(std::move(recipe));
      }
    }
  std::erase_if(recipes, [](const CaseRecipe& recipe) {
    try {
      generate_inputs(recipe);
      return false;
    } catch (const Error&) {  // The dtype does not hold such numbers.
      return true;
    }
  });
  return recipes;
}

JudgedCases draw_both(Device& device, DeviceJudge& judge) {
  JudgedCases result;
  std::vector<CaseRecipe> recipes = drawn_recipes();
  std::ranges::move(further_recipes(), std::back_inserter(recipes));
  for (const CaseRecipe& recipe : recipes) {
    const PristineInputs inputs(device, recipe, 64, &judge.drawer());
    const std::vector<std::vector<std::byte>> wanted = generate_inputs(recipe);
    for (std::size_t i = 0; i < recipe.inputs.size(); ++i) {
      if (!judge.drawer().draws(recipe, i)) continue;
      std::vector<std::byte> found(inputs.bytes(i));
      device.download(found, inputs.address(i));
      ++result.cases;
      if (found == wanted.at(i)) continue;
      const InputRecipe& input = recipe.inputs.front();
      result.difference =
          fmt::format("{} of {} {} {}{}", recipe.inputs[i].name, enumerator_name(input.draw),
                      enumerator_name(input.distribution), name_of(input.dtype),
                      input.steps.empty() ? "" : fmt::format(", {}", enumerator_name(input.steps.front().step)));
      return result;
    }
  }
  if (!judge.drawer().why_unfit().empty()) result.difference = judge.drawer().why_unfit();
  return result;
}

}  // namespace evo::testing
