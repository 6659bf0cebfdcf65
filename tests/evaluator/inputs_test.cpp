#include "evaluator/device/inputs.h"

#include <array>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstring>
#include <set>
#include <span>

#include "engine/base/hash.h"
#include "engine/record/enumerators.h"
#include "evaluator/base/random.h"
#include "evaluator/device/recipe_fingerprint.h"
#include "evaluator/numbers/float_formats.h"
#include "toy_task.h"

using namespace evo;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

/// One unquantised f32 input of matrices of 100 x 50.
CaseRecipe plain(Distribution distribution, double gain, std::uint64_t elements = 100000) {
  CaseRecipe recipe;
  recipe.inputs = {{"x", DType::f32, elements, 50, 5000, 5000, distribution, gain, 12345, std::nullopt, false}};
  return recipe;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> drawn(Distribution distribution, double gain) {
  return floats(generate_inputs(plain(distribution, gain)).front());
}

struct Moments {
  double mean = 0, deviation = 0, kurtosis = 0;
};
Moments moments(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const float v : values) m.mean += v / n;
  double second = 0, fourth = 0;
  for (const float v : values) {
    const double d = v - m.mean;
    second += d * d / n;
    fourth += d * d * d * d / n;
  }
  m.deviation = std::sqrt(second);
  m.kurtosis = fourth / (second * second);
  return m;
}

double rms(const float* values, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += double{values[i]} * values[i];
  return std::sqrt(sum / static_cast<double>(count));
}

/// Quantised matrices with one scale each.
CaseRecipe quantised(DType dtype, Distribution distribution, double gain) {
  CaseRecipe recipe;
  recipe.inputs = {{"q", dtype, 8192, 64, 2048, 2048, distribution, gain, 99, 1, false},
                   {"q_scale", DType::f32, 4, 4, 4, 4, Distribution::normal, 1, 0, std::nullopt, true}};
  recipe.inputs[0].dims = {4, 32, 64};
  recipe.inputs[0].scale_dims = {4, 1, 1};
  return recipe;
}

std::string hash_of(const std::vector<std::vector<std::byte>>& contents) {
  Hasher hasher;
  for (const auto& content : contents) hasher.add({reinterpret_cast<const char*>(content.data()), content.size()});
  return hasher.hex();
}

}  // namespace

TEST_CASE("a perturbed case differs in the last bits of its floats alone") {
  CaseRecipe recipe = plain(Distribution::normal, 1);
  const std::vector<float> exact = floats(generate_inputs(recipe).front());
  recipe.perturbed = true;
  const std::vector<float> perturbed = floats(generate_inputs(recipe).front());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    changed += perturbed[i] == exact[i] ? 0 : 1;
    if (perturbed[i] != exact[i])
      REQUIRE((perturbed[i] == std::nextafter(exact[i], 1e9F) || perturbed[i] == std::nextafter(exact[i], -1e9F)));
  }
  CHECK(changed > exact.size() * 4 / 10);
  CHECK(changed < exact.size() * 6 / 10);

  CaseRecipe codes = quantised(DType::e4m3, Distribution::normal, 1);
  const auto unperturbed = generate_inputs(codes);
  codes.perturbed = true;
  CHECK(generate_inputs(codes) == unperturbed);
}

TEST_CASE("a repeating case begins like the full one and then repeats") {
  for (const auto distribution : {Distribution::normal, Distribution::spikes, Distribution::max_magnitude}) {
    CaseRecipe recipe = plain(distribution, 2, 2'500'000);
    const std::vector<float> full = floats(generate_inputs(recipe).front());
    recipe.repeating = true;
    const std::vector<float> repeating = floats(generate_inputs(recipe).front());
    REQUIRE(repeating.size() == full.size());
    const std::size_t period = 1 << 20;
    CHECK(std::equal(full.begin(), full.begin() + period, repeating.begin()));
    CHECK(std::equal(repeating.begin() + period, repeating.end(), repeating.begin()));
    CHECK(full != repeating);
  }
}

TEST_CASE("Philox gives the published words") {
  // Known-answer vectors of the Random123 library, philox4x32-10.
  CHECK(philox(0, {0, 0, 0, 0}) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("the normal quantile inverts the normal distribution to double precision") {
  const auto check = [](std::uint32_t word) {
    const double p = (word + 0.5) * 0x1.0p-32;
    const double z = normal_from_word(word);
    // erfc keeps its relative precision in the tail that p is in.
    const double back = z < 0 ? 0.5 * std::erfc(-z / std::sqrt(2.0)) : 1.0 - 0.5 * std::erfc(z / std::sqrt(2.0));
    const double precision = z < 0 ? 1e-13 * p : 1e-15;
    CHECK_THAT(back, WithinAbs(p, precision));
  };
  for (std::uint32_t word = 0; word < 100; ++word) check(word);
  for (std::uint64_t word = 0; word <= 0xffffffff; word += 7654321) check(static_cast<std::uint32_t>(word));
  CHECK(normal_from_word(0x7fffffff) == -normal_from_word(0x80000000));
  CHECK_THAT(normal_from_word(0xffffffff), WithinAbs(6.338, 0.001));
}

TEST_CASE("inputs are the same bits in every run, on every machine") {
  // Fixed hashes: results recorded with a salt can be replayed.
  CHECK(hash_of(generate_inputs(plain(Distribution::normal, 1))) == "4d9342cc52ca29c866c61b90d87dfb86");
  CHECK(hash_of(generate_inputs(quantised(DType::e4m3, Distribution::outliers, 8))) ==
        "9f0096f9600e12e568a1e4a20ef1e20e");
}

TEST_CASE("normal inputs have the moments of a normal distribution and the regime's gain") {
  for (const double gain : {1.0, 4.0, 0.1}) {
    const Moments m = moments(drawn(Distribution::normal, gain));
    CHECK_THAT(m.mean, WithinAbs(0, 0.02 * gain));
    CHECK_THAT(m.deviation, WithinRel(gain, 0.02));
    CHECK_THAT(m.kurtosis, WithinAbs(3, 0.1));
  }
}

TEST_CASE("outliers are rare and large") {
  const std::vector<float> with = drawn(Distribution::outliers, 8), without = drawn(Distribution::normal, 1);
  std::size_t raised = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (with[i] == without[i]) continue;
    CHECK(with[i] == without[i] * 8.0F);
    ++raised;
  }
  CHECK_THAT(static_cast<double>(raised), WithinRel(100000.0 / 256, 0.2));
}

TEST_CASE("a zero group is zero and nothing else is") {
  const std::vector<float> values = drawn(Distribution::zero_group, 1);
  CHECK(std::all_of(values.begin(), values.begin() + 5000, [](float v) { return v == 0; }));
  CHECK_THAT(moments({values.begin() + 5000, values.end()}).deviation, WithinRel(1.0, 0.02));
}

TEST_CASE("constant rows hold one value each, and different ones") {
  const std::vector<float> values = drawn(Distribution::constant_rows, 2);
  std::set<float> rows;
  for (std::size_t row = 0; row < values.size() / 50; ++row) {
    CHECK(std::all_of(values.begin() + row * 50, values.begin() + row * 50 + 50,
                      [&](float v) { return v == values[row * 50]; }));
    rows.insert(values[row * 50]);
  }
  CHECK(rows.size() == values.size() / 50);
}

TEST_CASE("sparse inputs are zero in nine of ten places") {
  const std::vector<float> values = drawn(Distribution::sparse, 3);
  const auto zeros = std::count(values.begin(), values.end(), 0.0F);
  CHECK_THAT(static_cast<double>(zeros), WithinRel(90000.0, 0.01));
}

TEST_CASE("inputs of largest magnitude have random signs") {
  const std::vector<float> values = drawn(Distribution::max_magnitude, 5);
  CHECK(std::all_of(values.begin(), values.end(), [](float v) { return std::fabs(v) == 5.0F; }));
  CHECK_THAT(static_cast<double>(std::count(values.begin(), values.end(), 5.0F)), WithinRel(50000.0, 0.02));
}

TEST_CASE("each matrix has one peaked row, and in every second matrix it is the last") {
  for (const std::uint64_t seed : {0, 1}) {
    CaseRecipe recipe = plain(Distribution::spikes, 6);
    recipe.seed = seed;
    const std::vector<float> values = floats(generate_inputs(recipe).front());
    std::set<std::size_t> random_rows;
    for (std::size_t matrix = 0; matrix < 20; ++matrix) {
      std::vector<std::size_t> spiked;
      for (std::size_t row = 0; row < 100; ++row) {
        if (rms(values.data() + matrix * 5000 + row * 50, 50) > 3) spiked.push_back(row);
      }
      REQUIRE(spiked.size() == 1);
      if ((matrix + seed) % 2 == 1)
        CHECK(spiked[0] == 99);
      else
        random_rows.insert(spiked[0]);
    }
    CHECK(random_rows.size() > 5);
  }
}

TEST_CASE("the first row of each matrix is an attention sink") {
  const std::vector<float> values = drawn(Distribution::first_row, 8), usual = drawn(Distribution::normal, 1);
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == usual[i] * (i % 5000 < 50 ? 8.0F : 1.0F));
}

TEST_CASE("rows scaled log-normally keep their directions") {
  const std::vector<float> values = drawn(Distribution::log_normal_rows, 1.5), usual = drawn(Distribution::normal, 1);
  std::vector<float> octaves;
  for (std::size_t row = 0; row < 2000; ++row) {
    const float factor = values[row * 50] / usual[row * 50];
    for (std::size_t i = row * 50; i < row * 50 + 50; ++i)
      REQUIRE_THAT(double{values[i]}, WithinRel(double{usual[i]} * factor, 1e-5));
    octaves.push_back(std::log2(factor));
  }
  CHECK_THAT(moments(octaves).mean, WithinAbs(0.0, 0.15));
  CHECK_THAT(moments(octaves).deviation, WithinRel(1.5, 0.06));
}

TEST_CASE("each matrix has one column of large values, not always the same") {
  const std::vector<float> values = drawn(Distribution::common_channel, 8), usual = drawn(Distribution::normal, 1);
  std::set<std::size_t> columns;
  for (std::size_t matrix = 0; matrix < 20; ++matrix) {
    std::set<std::size_t> raised;
    for (std::size_t i = matrix * 5000; i < (matrix + 1) * 5000; ++i) {
      if (values[i] != usual[i]) raised.insert(i % 50);
      REQUIRE(values[i] == usual[i] + (values[i] != usual[i] ? 8.0F : 0.0F));
    }
    REQUIRE(raised.size() == 1);
    columns.merge(raised);
  }
  CHECK(columns.size() > 5);
}

TEST_CASE("uniform values have one sign") {
  const std::vector<float> values = drawn(Distribution::uniform, 2);
  CHECK(std::ranges::all_of(values, [](float v) { return v > 0 && v < 2; }));
  CHECK_THAT(moments(values).mean, WithinRel(1.0, 0.01));
  CHECK_THAT(moments(values).deviation, WithinRel(1 / std::sqrt(3.0), 0.01));
}

TEST_CASE("every distribution but the normal one changes what is drawn, of floats or of integers") {
  const auto integers = [](Distribution distribution) {
    CaseRecipe recipe = plain(distribution, 2);
    recipe.inputs[0].dtype = DType::s32;
    return generate_inputs(recipe).front();
  };
  for (std::size_t i = 0; i < kEnumerators<Distribution>; ++i) {
    const auto distribution = static_cast<Distribution>(i);
    INFO(enumerator_name(distribution));
    const bool differs = drawn(distribution, 2) != drawn(Distribution::normal, 2) ||
                         integers(distribution) != integers(Distribution::normal);
    CHECK(differs == (distribution != Distribution::normal));
  }
}

TEST_CASE("quantised values are the codes nearest to value / scale, with the scale of their group") {
  const auto contents = generate_inputs(quantised(DType::e4m3, Distribution::normal, 4));
  const std::vector<float> scales = floats(contents[1]);
  CaseRecipe unquantised = quantised(DType::e4m3, Distribution::normal, 4);
  unquantised.inputs = {unquantised.inputs[0]};
  unquantised.inputs[0].dtype = DType::f32;
  unquantised.inputs[0].scale.reset();
  const std::vector<float> values = floats(generate_inputs(unquantised).front());
  for (std::size_t group = 0; group < 4; ++group) {
    float most = 0, largest_code = 0;
    for (std::size_t i = group * 2048; i < (group + 1) * 2048; ++i) {
      most = std::max(most, std::fabs(values[i]));
      const float real = f32_from_e4m3(std::to_integer<std::uint8_t>(contents[0][i])) * scales[group];
      largest_code = std::max(largest_code, std::fabs(real / scales[group]));
      // Three bits of fraction: half a step is 1/16 of the value, or of the smallest normal number.
      CHECK(std::fabs(real - values[i]) <= std::max(std::fabs(values[i]) / 16, scales[group] * 0x1.0p-10F) * 1.0001F);
    }
    CHECK(scales[group] == most / 448.0F);
    CHECK(largest_code == 448.0F);
  }
}

TEST_CASE("one input drawn alone has the bits that it has among all, and nothing else is drawn but its scales") {
  CaseRecipe recipe = plain(Distribution::normal, 1, 5000);
  const CaseRecipe codes = quantised(DType::e4m3, Distribution::outliers, 9);
  for (InputRecipe input : codes.inputs) {
    if (input.scale) input.scale = *input.scale + 1;
    recipe.inputs.push_back(std::move(input));
  }
  const auto all = generate_inputs(recipe);
  CHECK(generate_input(recipe, 0) == std::vector<std::vector<std::byte>>{all[0], {}, {}});
  CHECK(generate_input(recipe, 1) == std::vector<std::vector<std::byte>>{{}, all[1], all[2]});
  CHECK(generate_input(recipe, 2) == generate_input(recipe, 1));
}

TEST_CASE("a group of zeros has scale 1 and zero codes") {
  for (const DType dtype : {DType::e4m3, DType::e5m2, DType::s8}) {
    const auto contents = generate_inputs(quantised(dtype, Distribution::zero_group, 1));
    CHECK(floats(contents[1])[0] == 1.0F);
    CHECK(floats(contents[1])[1] != 1.0F);
    CHECK(std::all_of(contents[0].begin(), contents[0].begin() + 2048, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_CASE("an input of unit scale has the scale 1 and its values as codes") {
  CaseRecipe recipe = quantised(DType::e4m3, Distribution::normal, 1);
  recipe.inputs[0].unit_scale = true;
  const auto contents = generate_inputs(recipe);
  CHECK(std::ranges::all_of(floats(contents[1]), [](float scale) { return scale == 1.0F; }));
  recipe.inputs = {recipe.inputs[0]};
  recipe.inputs[0].scale.reset();
  CHECK(contents[0] == generate_inputs(recipe).front());
}

TEST_CASE("the affine 8-bit code has zero at 128, also for a tensor of zeros") {
  const auto zeros = generate_inputs(quantised(DType::u8, Distribution::zero_group, 1));
  CHECK(floats(zeros[1])[0] == 1.0F);
  CHECK(std::all_of(zeros[0].begin(), zeros[0].begin() + 2048, [](std::byte b) { return b == std::byte{128}; }));
  const auto largest = generate_inputs(quantised(DType::u8, Distribution::max_magnitude, 3));
  for (const std::byte code : largest[0]) CHECK((code == std::byte{255} || code == std::byte{0}));
}

TEST_CASE("recipes have the same fingerprint when they are equal, and only then") {
  CaseRecipe recipe = plain(Distribution::normal, 2);
  recipe.inputs.push_back(recipe.inputs[0]);
  InputRecipe& input = recipe.inputs[0];
  input.numbers = {std::int64_t{1}, 2.0};
  input.dims = {20, 100, 50};
  CHECK(fingerprint(recipe) == fingerprint(CaseRecipe(recipe)));

  std::set<std::string> prints = {fingerprint(recipe)};
  const auto differs = [&](auto change) {
    CaseRecipe other = recipe;
    change(other, other.inputs[0]);
    CHECK(prints.insert(fingerprint(other)).second);
  };
  differs([](CaseRecipe& one, InputRecipe&) { one.seed = 1; });
  differs([](CaseRecipe& one, InputRecipe&) { one.repeating = true; });
  differs([](CaseRecipe& one, InputRecipe&) { one.perturbed = true; });
  differs([](CaseRecipe& one, InputRecipe&) { one.inputs.pop_back(); });
  differs([](CaseRecipe& one, InputRecipe&) { std::swap(one.inputs[0], one.inputs[1]); });
  differs([](CaseRecipe&, InputRecipe& first) { first.name = "y"; });
  differs([](CaseRecipe&, InputRecipe& first) { first.dtype = DType::f16; });
  differs([](CaseRecipe&, InputRecipe& first) { first.elements = 5000; });
  differs([](CaseRecipe&, InputRecipe& first) { first.row = 25; });
  differs([](CaseRecipe&, InputRecipe& first) { first.matrix = 2500; });
  differs([](CaseRecipe&, InputRecipe& first) { first.group = 50; });
  differs([](CaseRecipe&, InputRecipe& first) { first.distribution = Distribution::uniform; });
  differs([](CaseRecipe&, InputRecipe& first) { first.gain = 1; });
  differs([](CaseRecipe&, InputRecipe& first) { first.stream = 1; });
  differs([](CaseRecipe&, InputRecipe& first) { first.scale = 1; });
  differs([](CaseRecipe&, InputRecipe& first) { first.zero_point = 1; });
  differs([](CaseRecipe&, InputRecipe& first) { first.is_computed = true; });
  differs([](CaseRecipe&, InputRecipe& first) { first.draw = DrawKind::file; });
  differs([](CaseRecipe&, InputRecipe& first) { first.numbers[0] = std::uint64_t{1}; });
  differs([](CaseRecipe&, InputRecipe& first) { first.numbers.pop_back(); });
  differs([](CaseRecipe&, InputRecipe& first) { first.content = "file"; });
  differs([](CaseRecipe&, InputRecipe& first) { first.dims = {100, 20, 50}; });
  differs([](CaseRecipe&, InputRecipe& first) { first.scale_dims = {20, 100, 50}; });
  differs([](CaseRecipe&, InputRecipe& first) { first.strides = {20, 100, 50}; });
  differs([](CaseRecipe&, InputRecipe& first) { first.widened = DType::f32; });
  differs([](CaseRecipe&, InputRecipe& first) { first.unit_scale = true; });
}

TEST_CASE("of four rows one is far below zero, one far above, and one begins far below") {
  const auto values = drawn(Distribution::far_rows, 1e5), usual = drawn(Distribution::normal, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / 50 % 4;
    const float far = row == 1 ? 1e5F : row == 0 || (row == 2 && i % 50 < 25) ? -1e5F : 0;
    REQUIRE(values[i] == usual[i] + far);
  }
  // A format that does not reach so far is filled as far as it does.
  CaseRecipe narrow = plain(Distribution::far_rows, 1e5);
  narrow.inputs[0].dtype = DType::f16;
  const auto halves = generate_inputs(narrow).front();
  std::uint16_t first = 0;
  std::memcpy(&first, halves.data(), sizeof first);
  CHECK(f32_from_f16(first) < -5e4F);
  CHECK(std::isfinite(f32_from_f16(first)));
}

TEST_CASE("only one tensor of floats is far from zero, in each seed another one") {
  const Task task = testing::toy_options().task;
  Regime far{"far_rows", Distribution::far_rows, 1e5};
  std::set<std::string> names;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const CaseRecipe recipe = make_recipe(task, task.default_options(), task.shapes.front(), far, seed, 1);
    std::size_t count = 0;
    for (const InputRecipe& input : recipe.inputs) {
      if (!is_drawn_by_regime(input) || input.is_computed || input.distribution != Distribution::far_rows) continue;
      ++count;
      names.insert(input.name);
    }
    CHECK(count == 1);
  }
  const CaseRecipe recipe = make_recipe(task, task.default_options(), task.shapes.front(), far, 0, 1);
  CHECK(names.size() == static_cast<std::size_t>(std::ranges::count_if(recipe.inputs, [](const InputRecipe& input) {
          return is_drawn_by_regime(input) && !input.is_computed;
        })));
}

TEST_CASE("ties of floats lie between two codes of a scale that follows from the largest value") {
  for (const double codes : {127.0, 448.0}) {
    const auto values = drawn(Distribution::ties, codes);
    std::size_t halves = 0;
    for (std::size_t row = 0; row < values.size() / 50; ++row) {
      const std::span<const float> elements = std::span(values).subspan(row * 50, 50);
      float most = 0;
      for (const float value : elements) most = std::max(most, std::abs(value));
      const double wanted = row % 4 == 1 ? 7 : row % 4 == 2 ? 15 : codes;
      CHECK(most == wanted);
      for (const float value : elements) halves += std::abs(value - std::trunc(value)) == 0.5F ? 1 : 0;
    }
    CHECK(halves > values.size() / 3);
  }
  CaseRecipe lesser = plain(Distribution::ties, 127);
  lesser.inputs[0].is_lesser = true;
  for (const float value : floats(generate_inputs(lesser).front())) {
    int exponent = 0;
    REQUIRE(std::frexp(value, &exponent) == 0.5F);
  }
}

TEST_CASE("salt, seed, shape, regime and tensor each change the numbers") {
  const PipelineOptions options = evo::testing::toy_options();
  const Task& task = options.task;
  const auto bytes = [&](const char* shape, std::size_t regime, std::uint64_t seed, std::uint64_t salt) {
    return generate_inputs(make_recipe(task, {}, task.shape(shape), task.regimes[regime], seed, salt));
  };
  const auto base = bytes("middle", 0, 0, 1);
  CHECK(base == bytes("middle", 0, 0, 1));
  CHECK(base[0] != base[1]);
  CHECK(base != bytes("middle", 0, 0, 2));
  CHECK(base != bytes("middle", 0, 1, 1));
  const std::vector<float> normal = floats(base[0]), peaked = floats(bytes("middle", 1, 0, 1)[0]);
  CHECK(peaked[0] != 4 * normal[0]);  // The numbers are not the same ones scaled, so a kernel cannot recognise them.
}
