// stages.json: the steps of a task and the inputs that isolate them.

#include "engine/task/stages.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "engine/task/task.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

const char* const kTask = R"({
  "summary": "c = a b", "shape_parameters": ["M", "K"],
  "options": {"layout": ["rows", "columns"]},
  "inputs": [{"name": "a", "dtype": "f32", "dims": ["M", "K"]},
             {"name": "b", "dtype": "e4m3", "dims": ["K"], "scale": "s"},
             {"name": "s", "dtype": "f32", "dims": ["1"]}],
  "outputs": [{"name": "c", "dtype": "f32", "dims": ["M"]}],
  "shapes": {"only": {"M": 8, "K": 16}},
  "regimes": {"normal": {"distribution": "normal"}},
  "limits": {"relative_l2": 0.01, "cosine": 0.999},
  "floor": {"flops": "2 * M * K", "bytes": "4 * M * K", "math": "f32"},
  "reference": {"kernel": "r", "grid": ["M", "1", "1"], "block": ["1", "1", "1"], "arguments": ["a", "b", "s", "c"]}
})";

SourceTree tree_with(const std::string& stages) {
  SourceTree tree = {{"t/task.json", kTask}, {"t/reference.cu", "extern \"C\" __global__ void r() {}"}};
  if (!stages.empty()) tree["t/stages.json"] = stages;
  return tree;
}

Stages loaded(const std::string& text, const Bindings& options = {}) {
  const SourceTree tree = tree_with(text);
  const Task task = load_task(tree, "t");
  return load_stages(tree, task, options.empty() ? task.default_options() : options);
}

std::string with_isolation(const std::string& isolation) {
  return R"({"stages": [{"name": "product", "about": "a b"}], "isolations": [)" + isolation + "]}";
}

}  // namespace

TEST_CASE("an isolation has a stage, a shape, a regime and edits of inputs") {
  const Stages stages = loaded(with_isolation(
      R"({"stage": "product", "about": "no a", "shape": {"M": 3}, "regime": "normal", "free": "row", "tolerance": 0.1,
          "inputs": {"a": "zero", "b": "rows matrices"}})"));
  REQUIRE(stages.isolations.size() == 1);
  const Isolation& isolation = stages.isolations.front();
  CHECK(isolation.stage == "product");
  CHECK(isolation.shape == Bindings{{"M", std::int64_t{3}}});
  CHECK(isolation.free == Isolation::Free::row);
  CHECK(isolation.tolerance == 0.1);
  REQUIRE(isolation.edits.size() == 2);
  CHECK(isolation.edits[0].zero);
  CHECK(isolation.edits[1].rows);
  CHECK(isolation.edits[1].matrices);
  CHECK_FALSE(isolation.edits[1].columns);
}

TEST_CASE("the words of an edit may depend on an option") {
  const std::string text = with_isolation(R"({"stage": "product", "about": "by option",
      "inputs": {"a": {"layout": {"rows": "rows", "columns": "columns"}}}})");
  CHECK(loaded(text).isolations.front().edits.front().rows);
  CHECK(loaded(text, {{"layout", std::string("columns")}}).isolations.front().edits.front().columns);
}

TEST_CASE("mistakes in stages.json are named with their place") {
  const auto fails = [](const std::string& isolation, const std::string& with) {
    CHECK_THROWS_WITH(loaded(with_isolation(isolation)), ContainsSubstring(with));
  };
  fails(R"({"stage": "sum", "about": ""})", "none of the stages");
  fails(R"({"stage": "product", "about": "", "inputs": {"x": "zero"}})", "no input 'x'");
  fails(R"({"stage": "product", "about": "", "inputs": {"a": "nil"}})", "'nil' is none of");
  fails(R"({"stage": "product", "about": "", "shape": {"N": 1}})", "no shape parameter 'N'");
  fails(R"({"stage": "product", "about": "", "regime": "odd"})", "no such regime");
}

TEST_CASE("without a file each drawn input is a stage, isolated before all together") {
  const Stages stages = loaded("");
  std::string tried;
  for (const Isolation& isolation : stages.isolations) tried += isolation.stage + " ";
  CHECK(tried == "output a b combination ");
  const Isolation& of_a = stages.isolations[1];
  REQUIRE(of_a.edits.size() == 1);
  CHECK(of_a.edits.front().input == "b");
  CHECK(of_a.edits.front().equal);
}

TEST_CASE("stages are no part of a task's hash") {
  CHECK(load_task(tree_with(with_isolation("")), "t").hash == load_task(tree_with(""), "t").hash);
}
