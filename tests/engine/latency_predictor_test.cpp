#include "engine/search/latency_predictor.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

Genome at(std::int64_t x) {
  return {"f", {{"x", number(x)}}};
}

/// Predicts x, and notes the size of each batch.
class CountingPredictor : public LatencyPredictor {
 public:
  explicit CountingPredictor(std::vector<std::size_t>& batches) : batches_(batches) {}
  std::vector<PredictedLatency> predict(const std::vector<Genome>& genomes) override {
    batches_.push_back(genomes.size());
    if (batches_.size() == 3) return {};
    std::vector<PredictedLatency> predicted;
    for (const Genome& genome : genomes) {
      const auto x = std::get<std::int64_t>(genome.genes.at("x"));
      predicted.push_back({static_cast<double>(x), std::to_string(x)});
    }
    return predicted;
  }

 private:
  std::vector<std::size_t>& batches_;
};

std::vector<double> latencies(const std::vector<PredictedLatency>& predicted) {
  std::vector<double> latencies;
  for (const PredictedLatency& one : predicted) latencies.push_back(one.latency.value_or(-1));
  return latencies;
}

}  // namespace

TEST_CASE("a cached predictor is asked once for each genome") {
  std::vector<std::size_t> batches;
  CachedPredictor predictor(std::make_unique<CountingPredictor>(batches));
  CHECK(latencies(predictor.predict({at(3), at(1), at(3)})) == std::vector<double>{3, 1, 3});
  CHECK(latencies(predictor.predict({at(1), at(2)})) == std::vector<double>{1, 2});
  CHECK(latencies(predictor.predict({at(2), at(3)})) == std::vector<double>{2, 3});
  CHECK(predictor.predict({at(2)}).front().program == "2");
  CHECK(batches == std::vector<std::size_t>{2, 1});
  CHECK(predictor.predict({at(1), at(7)}).empty());  // It was stopped.
  CHECK(latencies(predictor.predict({at(7), at(1)})) == std::vector<double>{7, 1});
  CHECK(batches == std::vector<std::size_t>{2, 1, 1, 1});
}
