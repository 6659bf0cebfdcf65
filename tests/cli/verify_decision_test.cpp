#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "cli/commands/verify.h"

using namespace evo;
using namespace evo::cli;

namespace {

Verification verification_of(double claimed_us, double found_us, double tolerance) {
  Verification verification;
  verification.claim.latency_us = claimed_us;
  verification.evaluation.verdict = Verdict::valid;
  verification.evaluation.latency_us = found_us;
  verification.tolerance = tolerance;
  return verification;
}

bool reproduced(Verification verification) {
  decide(verification);
  return verification.reproduced;
}

}  // namespace

TEST_CASE("a measured latency is reproduced within five per cent either way") {
  CHECK(reproduced(verification_of(10, 10.4, 0.05)));
  CHECK(reproduced(verification_of(10, 9.6, 0.05)));
  CHECK_FALSE(reproduced(verification_of(10, 10.6, 0.05)));
  CHECK_FALSE(reproduced(verification_of(10, 9.4, 0.05)));
}

TEST_CASE("a modelled latency is reproduced only exactly") {
  CHECK(reproduced(verification_of(10, 10, 0)));
  CHECK_FALSE(reproduced(verification_of(10, 10.0001, 0)));
}

TEST_CASE("a claim is not reproduced by a latency that is not a positive number") {
  CHECK_FALSE(reproduced(verification_of(10, std::numeric_limits<double>::quiet_NaN(), 0.05)));
  CHECK_FALSE(reproduced(verification_of(0, 0, 0.05)));
}

TEST_CASE("a claim is not reproduced by a wrong answer, and the reason is given") {
  Verification verification = verification_of(10, 10, 0.05);
  verification.evaluation.verdict = Verdict::wrong_answer;
  verification.evaluation.reason = "relative error 0.7";
  decide(verification);
  CHECK_FALSE(verification.reproduced);
  CHECK(verification.why == "wrong_answer: relative error 0.7");
}

TEST_CASE("on another model of GPU only the answers are compared") {
  Verification verification = verification_of(10, 500, 0.05);
  verification.comparable = false;
  verification.claim.device.name = "NVIDIA H200";
  verification.device.name = "NVIDIA L4";
  decide(verification);
  CHECK(verification.reproduced);
  CHECK(verification.why.find("cannot be compared") != std::string::npos);
}
