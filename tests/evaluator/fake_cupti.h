#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evaluator/cuda/cupti.h"

namespace evo::test {

/// A CUPTI without a GPU: counter N of launch L has the value 100 L + N, N being its place among the metrics asked for.
/// The only one alive.
class FakeCupti {
 public:
  std::string unknown_metric;  ///< The GPU has no such counter.
  CUptiResult on_enable = CUPTI_SUCCESS;
  std::size_t missed_ranges = 0;     ///< Launches that it does not see.
  double value_of_first = 0;         ///< In the place of the first counter of a launch, if it is not 0.
  std::string chip;                  ///< That was described.
  std::vector<std::string> metrics;  ///< That were added.
  int enabled = 0;                   ///< Now.
  int hosts = 0;                     ///< Open now.
  std::size_t ranges = 0;            ///< That there is room for.

  FakeCupti();
  ~FakeCupti();
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;

  std::shared_ptr<const cuda::Cupti> functions();
};

}  // namespace evo::test
