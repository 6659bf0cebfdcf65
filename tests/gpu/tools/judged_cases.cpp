// Does a device draw inputs and compare outputs as the host does? usage: evo_judged_cases [DEVICE]. Prints a line for
// each; exit code 1 where they differ.

#include "tests/evaluator/judged_cases.h"

#include <fmt/format.h>

#include <cstdio>

#include "evaluator/hosts/devices.h"

int main(int count, char** arguments) {
  using namespace evo;
  const auto device = open_device(resolve_device(count > 1 ? arguments[1] : "cuda:0").id);
  DeviceJudge judge = testing::judge_on(*device);
  const auto print = [](const char* what, const testing::JudgedCases& of) {
    std::puts(fmt::format("{:4} {:10} {}", of.cases, what, of.difference.empty() ? "agree" : of.difference).c_str());
    return of.difference.empty();
  };
  const bool drawn = print("draws", testing::draw_both(*device, judge));
  const bool compared = print("comparisons", testing::compare_both(*device, judge, 300));
  return drawn && compared ? 0 : 1;
}
