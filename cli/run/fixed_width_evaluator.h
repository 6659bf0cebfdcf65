#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "engine/search/evaluator.h"
#include "engine/task/evaluation.h"

namespace evo::cli {

/// Gives an evaluator another width. A search depends on the width, because the strategy gets each answer that many
/// proposals late. With the width of its start, a run repeats on a machine with more or fewer cores.
class FixedWidthEvaluator : public Evaluator {
 public:
  FixedWidthEvaluator(std::unique_ptr<Evaluator> inner, std::size_t width) : inner_(std::move(inner)), width_(width) {}

  std::size_t width() const override { return width_; }
  void submit(std::uint64_t ticket, const Candidate& candidate) override;
  Done wait() override;
  std::vector<std::uint64_t> withdraw() override;

 private:
  std::unique_ptr<Evaluator> inner_;
  std::size_t width_;
  std::size_t in_flight_ = 0;
  std::deque<std::pair<std::uint64_t, Candidate>> waiting_;  ///< Submitted, but beyond the width of `inner_`.
};

}  // namespace evo::cli
