#pragma once

#include <cstdint>
#include <memory>

#include "engine/task/candidate.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/device/device.h"
#include "evaluator/judge/oracle.h"

namespace evo::cli {

/// A reference, as it is or changed, on a virtual GPU of this process.
class TriedReference {
 public:
  /// `instructions`: what a warp of it may run. The task and the options must outlive it. Throws usage_error where it
  /// does not compile.
  TriedReference(Program program, const Task& task, const Bindings& options, const DeviceInfo& device,
                 Compiler& compiler, std::uint64_t instructions = kMostOfTry);
  ~TriedReference();

  /// Throws usage_error where it fails, or runs longer.
  Expected answer(const Case& one);

 private:
  /// A reference may be a single thread, but must not take seconds for each regime.
  static constexpr std::uint64_t kMostOfTry = 4'000'000;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evo::cli
