#include "evaluator/judge/answer_size.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace evo;
using Catch::Matchers::WithinRel;

namespace {

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

TEST_CASE("the size of an answer is its root mean square, and that of what changes") {
  const AnswerSize size = answer_size({DType::f32, bytes_of({3, -4}), bytes_of({3, -2})});
  CHECK_THAT(size.rms, WithinRel(std::sqrt(12.5), 1e-12));
  CHECK_THAT(size.change, WithinRel(std::sqrt(2.0), 1e-12));
  CHECK(answer_size({DType::f32, bytes_of({3, -4})}).change == 0);
}

TEST_CASE("the usual size leaves out answers that are not finite") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK_THAT(usual_size(std::array<AnswerSize, 3>{{{3, 0}, {inf, 0}, {4, 0}}}).rms, WithinRel(std::sqrt(12.5), 1e-12));
  CHECK(usual_size({}).rms == 0);
}

TEST_CASE("errors are relative to the usual size where an answer is smaller, and else to its own") {
  Difference difference;
  difference.relative_l2 = 0.01;
  difference.row_l2 = 0.02;
  difference.cosine = -1;
  difference.want_rms = 0.001;
  difference.max_abs = 0.00001;
  const Difference small = relative_to_usual(difference, {0.001, 0}, {0.1, 0});
  CHECK_THAT(small.relative_l2, WithinRel(0.0001, 1e-9));
  CHECK_THAT(small.row_l2, WithinRel(0.0002, 1e-9));
  CHECK(small.cosine > 0.999999);
  CHECK(small.want_rms == 0.1);
  CHECK(small.max_abs == difference.max_abs);

  const Difference large = relative_to_usual(difference, {0.001, 0}, {0.0005, 0});
  CHECK(large.relative_l2 == difference.relative_l2);
  CHECK(large.want_rms == difference.want_rms);
}

TEST_CASE("where an answer is zero by chance its error is relative to the usual size") {
  Difference difference;
  difference.relative_l2 = kIncomparable;
  difference.max_abs = 0.001;
  CHECK_THAT(relative_to_usual(difference, {0, 0}, {2, 0}).relative_l2, WithinRel(0.0005, 1e-9));
  CHECK(relative_to_usual(difference, {0, 0}, {0, 0}).relative_l2 == kIncomparable);
}
