#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "cli/commands/verify.h"

using namespace evo;
using namespace evo::cli;

namespace {

Finding finding_of(double claimed_us, double found_us, double tolerance) {
  Finding finding;
  finding.claim.latency_us = claimed_us;
  finding.evaluation.verdict = Verdict::valid;
  finding.evaluation.latency_us = found_us;
  finding.tolerance = tolerance;
  return finding;
}

bool reproduced(Finding finding) {
  judge(finding);
  return finding.reproduced;
}

}  // namespace

TEST_CASE("a measured latency is reproduced within five per cent either way") {
  CHECK(reproduced(finding_of(10, 10.4, 0.05)));
  CHECK(reproduced(finding_of(10, 9.6, 0.05)));
  CHECK_FALSE(reproduced(finding_of(10, 10.6, 0.05)));
  CHECK_FALSE(reproduced(finding_of(10, 9.4, 0.05)));
}

TEST_CASE("a modelled latency is reproduced only exactly") {
  CHECK(reproduced(finding_of(10, 10, 0)));
  CHECK_FALSE(reproduced(finding_of(10, 10.0001, 0)));
}

TEST_CASE("a latency that is no number reproduces nothing") {
  CHECK_FALSE(reproduced(finding_of(10, std::numeric_limits<double>::quiet_NaN(), 0.05)));
  CHECK_FALSE(reproduced(finding_of(0, 0, 0.05)));
}

TEST_CASE("a wrong answer reproduces nothing, however fast, and the reason is told") {
  Finding finding = finding_of(10, 10, 0.05);
  finding.evaluation.verdict = Verdict::wrong_answer;
  finding.evaluation.reason = "relative error 0.7";
  judge(finding);
  CHECK_FALSE(finding.reproduced);
  CHECK(finding.why == "wrong_answer: relative error 0.7");
}

TEST_CASE("on another model of GPU only the answers are judged") {
  Finding finding = finding_of(10, 500, 0.05);
  finding.comparable = false;
  finding.claim.device.name = "NVIDIA H200";
  finding.device.name = "NVIDIA L4";
  judge(finding);
  CHECK(finding.reproduced);
  CHECK(finding.why.find("cannot be compared") != std::string::npos);
}
