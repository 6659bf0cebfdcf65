#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "evaluator/device/device.h"
#include "evaluator/hosts/compile_pool.h"

namespace evo {

/// A candidate on its way through a pipeline.
struct CandidateJob {
  std::uint64_t ticket = 0;
  Candidate candidate;
  std::string source_key;
  std::optional<Failure> illegal = {};
  std::vector<std::shared_future<CompilePool::Result>> compiled = {};  ///< By program; empty until asked for.
  // Once it is built:
  std::string binary_key = {};
  std::vector<Binary> binaries = {};
  Evaluation built = {};                      ///< Its builds, what they are like, and how long they took.
  std::optional<std::size_t> failed_on = {};  ///< The lane on which the machine failed it.
};

}  // namespace evo
