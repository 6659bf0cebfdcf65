#include "engine/search/latency_predictor.h"

#include <memory>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

Genome at(std::int64_t x) {
  return {"f", {{"x", number(x)}}};
}

/// Predicts x, and notes what it is asked for. Of 9 it is interrupted.
class NotingPredictor : public InstantPredictor {
 public:
  explicit NotingPredictor(std::vector<std::int64_t>& asked) : asked_(asked) {}

 protected:
  std::optional<PredictedLatency> prediction(const Genome& genome) override {
    const auto x = std::get<std::int64_t>(genome.genes.at("x"));
    asked_.push_back(x);
    if (x == 9) return std::nullopt;
    return PredictedLatency{static_cast<double>(x), std::to_string(x)};
  }

 private:
  std::vector<std::int64_t>& asked_;
};

std::vector<double> latencies(const std::vector<PredictedLatency>& predicted) {
  std::vector<double> latencies;
  for (const PredictedLatency& one : predicted) latencies.push_back(one.latency.value_or(-1));
  return latencies;
}

}  // namespace

TEST_CASE("a cached predictor is asked once for each genome") {
  std::vector<std::int64_t> asked;
  CachedPredictor predictor(std::make_unique<NotingPredictor>(asked));
  CHECK(latencies(predictor.predict({at(3), at(1), at(3)})) == std::vector<double>{3, 1, 3});
  CHECK(latencies(predictor.predict({at(1), at(2)})) == std::vector<double>{1, 2});
  CHECK(latencies(predictor.predict({at(2), at(3)})) == std::vector<double>{2, 3});
  CHECK(predictor.begin(at(2)).get()->program == "2");
  CHECK(asked == std::vector<std::int64_t>{3, 1, 2});
}

TEST_CASE("a prediction under way is finished once, by whoever needs it first") {
  bool there = false;
  int finished = 0;
  const PendingPrediction pending([&] { return there; },
                                  [&] {
                                    ++finished;
                                    return PredictedLatency{7.0};
                                  });
  const PendingPrediction copy = pending;
  CHECK(!pending.ready());
  there = true;
  CHECK(pending.ready());
  CHECK(copy.get()->latency == 7);
  CHECK(pending.get()->latency == 7);
  CHECK(finished == 1);
  there = false;
  CHECK(pending.ready());
  CHECK(PendingPrediction(PredictedLatency{8.0}).ready());
}

TEST_CASE("an interrupted predictor gives no prediction at all") {
  std::vector<std::int64_t> asked;
  NotingPredictor predictor(asked);
  CHECK(predictor.predict({at(1), at(9), at(2)}).empty());
  CHECK(!predictor.begin(at(9)).get());
}
