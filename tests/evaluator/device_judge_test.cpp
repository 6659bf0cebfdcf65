#include "evaluator/kernels/device_judge.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <ranges>

#include "engine/base/error.h"
#include "engine/record/enumerators.h"
#include "evaluator/vgpu/virtual_device.h"
#include "judged_cases.h"
#include "tests/evaluator/worker/spoilt_device.h"

using namespace evo;
using namespace evo::testing;

namespace {

/// A virtual GPU and its judge; none without NVRTC.
struct Judging {
  std::unique_ptr<vgpu::VirtualGpu> device = vgpu::make_device("h200", 2);
  std::optional<DeviceJudge> judge;

  Judging() {
    try {
      judge.emplace(judge_on(*device));
    } catch (const Error& error) {
      SKIP(error.what());
    }
  }
};

}  // namespace

TEST_CASE("a device draws and compares as the host does: every regime, 300 cases of every kind of limit", "[long]") {
  Judging judging;
  const JudgedCases drawn = draw_both(*judging.device, *judging.judge);
  CHECK(drawn.difference == "");
  CHECK(drawn.cases == 1599);  // Each kind of draw, in every dtype and regime in which a device draws it.

  const JudgedCases compared = compare_both(*judging.device, *judging.judge, 300);
  CHECK(compared.difference == "");
  CHECK(compared.passed > 50);
  CHECK(compared.passed < 250);
}

TEST_CASE("the largest values of groups are sought once for an input of codes and its scales") {
  std::map<std::string, int> launches;
  SpoiltDevice counted(vgpu::make_device("h200", 2), [&](Device&, const Plan& plan, const Buffers&) {
    for (const Launch& launch : plan.launches) ++launches[launch.kernel];
  });
  std::optional<DeviceJudge> judge;
  try {
    judge.emplace(judge_on(counted));
  } catch (const Error& error) {
    SKIP(error.what());
  }
  CaseRecipe recipe = coded(recipe_of(Distribution::normal, DType::e4m3, 1, 0), 0);
  for (InputRecipe input : coded(recipe_of(Distribution::normal, DType::s8, 3, 0), 1).inputs) {
    if (input.scale) input.scale = 3;
    recipe.inputs.push_back(input);
  }
  const auto drawn_as_the_host = [&] {
    const PristineInputs inputs(counted, recipe, 64, &judge->drawer());
    const std::vector<std::vector<std::byte>> wanted = generate_inputs(recipe);
    return std::ranges::all_of(std::views::iota(std::size_t{0}, wanted.size()), [&](std::size_t i) {
      std::vector<std::byte> found(inputs.bytes(i));
      counted.download(found, inputs.address(i));
      return judge->drawer().draws(recipe, i) && found == wanted[i];
    });
  };
  CHECK(drawn_as_the_host());
  CHECK(launches["evo_encode"] == 2);
  CHECK(launches["evo_largest"] == 2);
  ++recipe.seed;  // Another case has its own.
  CHECK(drawn_as_the_host());
  CHECK(launches["evo_largest"] == 4);
}

TEST_CASE("what a candidate writes into drawn inputs or an answer is seen, and an answer lies hidden") {
  Judging judging;
  const PristineInputs inputs(*judging.device, recipe_of(Distribution::normal, DType::f16, 1, 0), 64,
                              &judging.judge->drawer());
  const std::vector<std::byte> ones(4096, std::byte{1});
  judging.device->upload(inputs.address(0) + 100, std::span(ones).first(3));
  CHECK(inputs.repair());
  CHECK_FALSE(inputs.repair());

  const BufferSet set(*judging.device, {{"y", DType::u8, ones.size(), true}});
  judging.device->upload(set.addresses().tensors.front(), ones);
  judging.judge->keep_answer("case", set);
  const ComparedFor exact{.exact = true};
  REQUIRE(judging.judge->compare("case", set, std::span(&exact, 1)).at(0).unequal == 0);
  CHECK(judging.judge->compare("other", set, std::span(&exact, 1)).empty());
  const DeviceAddress answer = judging.judge->answer_at("case").at(0);
  std::vector<std::byte> found(ones.size());
  judging.device->download(found, answer);
  CHECK(std::ranges::count(found, std::byte{1}) < 64);  // 16 by chance.

  judging.device->upload(answer + 17, std::span(ones).first(1));
  CHECK(judging.judge->compare("case", set, std::span(&exact, 1)).empty());
}
