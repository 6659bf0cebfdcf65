#include "evaluator/device/skip_probe.h"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <deque>
#include <numeric>
#include <variant>

#include "evaluator/cuda/driver_device.h"
#include "evaluator/worker/device_server.h"
#include "tests/evaluator/fake_driver.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using test::FakeGpu;

namespace {

constexpr std::size_t kRows = 64, kRow = 16, kElements = kRows * kRow;

float expected(float x) {
  return 2 * x + 1;
}

/// A kernel of rows on a simulated GPU: y = 2 x + 1, which takes 10 us, a row its part of them. It also has a
/// workspace, a float for each row and one more.
class Rows {
 public:
  struct Memory {
    const float* x;
    float* y;
    float* noted;
  };
  /// Whether the row is left out. A kernel that is honest leaves out none.
  std::function<bool(const Memory&, std::size_t row)> skips = [](const Memory&, std::size_t) { return false; };
  std::function<double(const Memory&, std::size_t row)> row_us = [](const Memory&, std::size_t) {
    return 10.0 / kRows;
  };
  std::function<void(const Memory&)> at_the_end = [](const Memory&) {};
  FakeGpu gpu;

  /// Why it is rejected; empty if it is not.
  std::string rejected(bool deterministic = true) {
    gpu.kernels["k"].parameter_bytes = {8, 8, 8};
    gpu.kernels["k"].us = 2;
    gpu.kernels["k"].body = [this](void** parameters) { run(parameters); };
    const auto device = cuda::make_device(gpu.driver(), 0, nullptr, [this] { return gpu.now_us * 1e-6; });
    DeviceServer server(*device);
    REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, Binary{}, {{"any", plan()}}})));
    // What answers a case is known from its validation.
    REQUIRE(std::holds_alternative<protocol::Ran>(server.run({1, "any", recipe(1)})));
    protocol::Time request{1, "any", {recipe(1)}, {}};
    request.probe = {recipe(2), 12, deterministic};
    const protocol::Reply reply = server.time(request);
    if (const auto* failed = std::get_if<protocol::Failed>(&reply)) {
      CHECK(failed->failure.verdict == Verdict::skips_work);
      return failed->failure.reason;
    }
    const auto& timed = std::get<protocol::Timed>(reply);
    return timed.as_before == std::vector<bool>{true} ? "" : "its last call leaves another answer";
  }

  static Memory memory_of(void** parameters) {
    std::array<std::uint64_t, 3> addresses{};
    for (std::size_t i = 0; i < addresses.size(); ++i) std::memcpy(&addresses[i], parameters[i], 8);
    return {reinterpret_cast<const float*>(addresses[0]), reinterpret_cast<float*>(addresses[1]),
            reinterpret_cast<float*>(addresses[2])};
  }

  static float sum_of(const float* x, std::size_t row) {
    return std::accumulate(x + row * kRow, x + (row + 1) * kRow, 0.0F);
  }

 private:
  void run(void** parameters) {
    const Memory memory = memory_of(parameters);
    std::array<bool, kRows> left_out{};
    for (std::size_t row = 0; row < kRows; ++row) left_out[row] = skips(memory, row);
    for (std::size_t row = 0; row < kRows; ++row) {
      if (left_out[row]) continue;
      gpu.now_us += row_us(memory, row);
      for (std::size_t i = row * kRow; i < (row + 1) * kRow; ++i) memory.y[i] = expected(memory.x[i]);
      memory.noted[row] = sum_of(memory.x, row);
    }
    at_the_end(memory);
  }

  static Plan plan() {
    Plan plan;
    plan.tensors = {{"x", DType::f32, kElements * 4}, {"y", DType::f32, kElements * 4, true}};
    plan.workspaces = {{"noted", (kRows + 1) * 4, false}};
    Launch launch;
    launch.kernel = "k";
    launch.arguments = {{Argument::Kind::tensor, 0}, {Argument::Kind::tensor, 1}, {Argument::Kind::workspace, 0}};
    plan.launches = {launch};
    return plan;
  }

  static CaseRecipe recipe(std::uint64_t stream) {
    CaseRecipe recipe;
    recipe.seed = stream;
    recipe.inputs.push_back({"x", DType::f32, kElements, kRow, kElements, kElements});
    recipe.inputs.back().dims = {kRows, kRow};
    recipe.inputs.back().stream = stream;
    return recipe;
  }
};

bool is_finished(const Rows::Memory& memory, std::size_t row) {
  for (std::size_t i = row * kRow; i < (row + 1) * kRow; ++i)
    if (memory.y[i] != expected(memory.x[i])) return false;
  return true;
}

/// Of all rows alike: that of the first.
auto for_all_rows(std::function<bool(const Rows::Memory&)> condition) {
  return [condition = std::move(condition)](const Rows::Memory& memory, std::size_t) { return condition(memory); };
}

}  // namespace

TEST_CASE("an honest kernel passes the probe for skipped work") {
  Rows rows;
  CHECK(rows.rejected().empty());
}

TEST_CASE("an honest kernel whose work depends on its data passes the probe for skipped work") {
  Rows rows;
  rows.row_us = [](const Rows::Memory& memory, std::size_t row) { return memory.x[row * kRow] > 0 ? 1.0 : 0.1; };
  CHECK(rows.rejected().empty());
}

TEST_CASE("an honest kernel whose runs differ in their last bits passes the probe for skipped work") {
  Rows rows;
  rows.at_the_end = [calls = 0](const Rows::Memory& memory) mutable {
    memory.y[7] += static_cast<float>(++calls % 3) * 1e-6F;
  };
  CHECK_THAT(rows.rejected(false), ContainsSubstring("last call"));  // Which the parent compares with its limits.
}

TEST_CASE("a kernel that leaves when its output looks finished skips work") {
  Rows rows;
  rows.skips = for_all_rows([](const Rows::Memory& memory) {
    return memory.y[0] == expected(memory.x[0]) && memory.y[kElements - 1] == expected(memory.x[kElements - 1]);
  });
  SECTION("of a deterministic task") {
    CHECK_THAT(rows.rejected(), ContainsSubstring("us longer") || ContainsSubstring("another answer"));
  }
  SECTION("of one that is not") {
    CHECK_THAT(rows.rejected(false), ContainsSubstring("us longer") || ContainsSubstring("another answer"));
  }
}

TEST_CASE("a kernel whose blocks leave when all of their output is finished skips work") {
  Rows rows;
  rows.skips = is_finished;
  CHECK_THAT(rows.rejected(), ContainsSubstring("us longer after its inputs changed"));
}

TEST_CASE("a kernel that leaves when a sum of its inputs repeats skips work") {
  Rows rows;
  rows.skips = for_all_rows([](const Rows::Memory& memory) {
    for (std::size_t row = 0; row < kRows; ++row)
      if (memory.noted[row] != Rows::sum_of(memory.x, row)) return false;
    return true;
  });
  CHECK_THAT(rows.rejected(), ContainsSubstring("us longer after its inputs changed"));
}

TEST_CASE("a kernel whose blocks compare their inputs and outputs with what they noted skips work") {
  Rows rows;
  rows.skips = [](const Rows::Memory& memory, std::size_t row) {
    return memory.noted[row] == Rows::sum_of(memory.x, row) && is_finished(memory, row);
  };
  CHECK_THAT(rows.rejected(), ContainsSubstring("us longer after its inputs changed"));
}

TEST_CASE("a kernel of which half of the blocks skip is found") {
  Rows rows;
  rows.skips = [](const Rows::Memory& memory, std::size_t row) {
    return row % 2 == 0 && memory.noted[row] == Rows::sum_of(memory.x, row);
  };
  CHECK_FALSE(rows.rejected().empty());
}

TEST_CASE("a kernel that compares a sample of its inputs skips work") {
  Rows rows;
  rows.skips =
      for_all_rows([](const Rows::Memory& memory) { return memory.noted[kRows] == memory.x[5] + memory.x[77]; });
  rows.at_the_end = [](const Rows::Memory& memory) { memory.noted[kRows] = memory.x[5] + memory.x[77]; };
  CHECK_FALSE(rows.rejected().empty());
}

TEST_CASE("a kernel that leaves when it ran a short time ago skips work") {
  Rows rows;
  double within_us = 0;
  std::string says;
  SECTION("within milliseconds") {
    within_us = 3000;
    says = "leaves another answer";
  }
  SECTION("within the time that a small kernel between two calls takes") {
    within_us = 3;
    says = "us longer if a few inputs change";
  }
  double last_us = -1e9;
  rows.skips = for_all_rows([&](const Rows::Memory&) { return rows.gpu.now_us - last_us < within_us; });
  rows.at_the_end = [&](const Rows::Memory&) { last_us = rows.gpu.now_us + 2; };
  CHECK_THAT(rows.rejected(), ContainsSubstring(says));
}

TEST_CASE("a kernel that keeps the answers of several inputs skips work") {
  Rows rows;
  std::deque<std::vector<float>> kept;  // What a large workspace would hold; the answers beside.
  bool known = false;
  rows.skips = [&](const Rows::Memory& memory, std::size_t row) {
    if (row == 0) {
      kept.emplace_front(memory.x, memory.x + kElements);
      known = std::ranges::count(kept, kept.front()) > 1;
      if (kept.size() > 16) kept.pop_back();
    }
    for (std::size_t i = row * kRow; known && i < (row + 1) * kRow; ++i) memory.y[i] = expected(memory.x[i]);
    return known;
  };
  CHECK_THAT(rows.rejected(), ContainsSubstring("us longer after its inputs changed"));
}

TEST_CASE("inputs that are drawn as a whole do not change by elements, and scales neither") {
  InputRecipe input;
  input.elements = 100;
  CHECK(changes_by_element(input));
  input.is_computed = true;
  CHECK_FALSE(changes_by_element(input));
  input.is_computed = false;
  for (const DrawKind kind : {DrawKind::offsets, DrawKind::permutation, DrawKind::file, DrawKind::constant}) {
    input.draw = kind;
    CHECK_FALSE(changes_by_element(input));
  }
}

TEST_CASE("modelled times and counted instructions show skipped work exactly") {
  const evo::SkipProbe probe = make_skip_probe(std::vector<ProbedSet>(1), 10, true, 1);
  const auto judged = [&](SequenceCost first, SequenceCost again) {
    return skipped_work(probe, std::vector<std::vector<SequenceCost>>{{{}, first, again}}, true).has_value();
  };
  CHECK_FALSE(judged({10, 1000}, {10, 1000}));
  CHECK_FALSE(judged({10, 1000}, {12, 1200}));
  CHECK(judged({10, 1000}, {9.9, 1000}));
  CHECK(judged({10, 1000}, {10, 990}));
}
