#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"

namespace evo {

/// Evaluates candidates, several in flight. Implementations: the device pipeline, replay, fakes.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// How many candidates keep it busy.
  virtual std::size_t width() const = 0;
  /// Starts one. `ticket` is the caller's; unique among those in flight.
  virtual void submit(std::uint64_t ticket, const Candidate& candidate) = 0;
  struct Done {
    std::uint64_t ticket = 0;
    Evaluation evaluation;
  };
  /// Blocks until one ends. At least one must be in flight. Throws machine_error only when no further
  /// evaluation is possible.
  virtual Done wait() = 0;
  /// Forgets the candidates that have not begun to run and returns their tickets; wait() will not return them. For a
  /// search that ends early.
  virtual std::vector<std::uint64_t> withdraw() { return {}; }
};

}  // namespace evo
