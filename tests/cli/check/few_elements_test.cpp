#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

const std::string kHonest = "1.00005f";

/// The verdicts of a kernel that computes a + b times a factor, one element at a time and on so many draws that some
/// sums nearly cancel. The limit of the relative error is 1e-4. Without an attack, which makes all of them cancel.
nlohmann::json few_elements_verdicts(const std::string& factor) {
  const ToyBench bench;
  std::string kernel = bench.read("templates/toy/plain/kernel.cu");
  const std::string sign = "${wrong ? '-' : '+'} b[i${item}]";
  REQUIRE(holds(kernel, sign));
  kernel.replace(kernel.find(sign), sign.size(), "+ b[i${item}] * " + factor);
  bench.write("templates/toy/plain/kernel.cu", kernel);
  nlohmann::ordered_json task = nlohmann::ordered_json::parse(bench.read("templates/toy/task.json"));
  task["shapes"] = {{"tiny", {{"N", 1}}}};
  task["sets"]["vgpu"] = {{"timed", {"tiny"}}, {"validated", {"tiny"}}};
  task["sets"].erase("cuda");
  task["seeds"] = 40;
  bench.write("templates/toy/task.json", task.dump());
  const int code = factor == kHonest ? 0 : 1;
  return bench.json({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet"},
                    code)["verdicts"];
}

}  // namespace

TEST_CASE("an honest kernel is right where an answer of one element is small by chance") {
  CHECK(few_elements_verdicts(kHonest) == nlohmann::json{{"valid", 2}});
}

TEST_CASE("a wrong kernel is wrong where an answer has one element") {
  CHECK(few_elements_verdicts("1.002f") == nlohmann::json{{"wrong_answer", 2}});
}
