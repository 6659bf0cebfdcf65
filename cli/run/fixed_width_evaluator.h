#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/search/evaluator.h"

namespace evo::cli {

/// Gives an evaluator another width. A search depends on the width, because the strategy gets each answer that many
/// proposals late. With the width of its start, a run repeats on a machine with more or fewer cores. All candidates are
/// submitted at once, so that those whose turn has not come are compiled meanwhile.
class FixedWidthEvaluator : public Evaluator {
 public:
  FixedWidthEvaluator(std::unique_ptr<Evaluator> inner, std::size_t width) : inner_(std::move(inner)), width_(width) {}

  std::size_t width() const override { return width_; }
  void submit(std::uint64_t ticket, const Candidate& candidate) override { inner_->submit(ticket, candidate); }
  Done wait() override { return inner_->wait(); }
  std::vector<std::uint64_t> withdraw() override { return inner_->withdraw(); }

 private:
  std::unique_ptr<Evaluator> inner_;
  std::size_t width_;
};

}  // namespace evo::cli
