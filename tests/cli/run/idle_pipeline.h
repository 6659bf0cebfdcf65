#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "evaluator/pipeline/pipeline.h"

namespace evo::testing {

/// A pipeline without devices, which does nothing. Tests override what they look at.
class IdlePipeline : public DevicePipeline {
 public:
  LaneTimes times() override { return {}; }
  std::size_t width() const override { return 1; }
  void submit(std::uint64_t, const Candidate&) override {}
  Done wait() override { return {}; }
  std::vector<std::uint64_t> withdraw() override { return {}; }
  std::future<InterleavedTimings> start_interleaved(std::vector<Candidate>, int, EnoughRounds) override { return {}; }
  std::vector<InterleavedTimings> time_on_each(const Candidate&, int) override { return {}; }
  void disqualify(const std::string&) override {}
  void join(const DeviceInfo&) override {}
  void compile_on(const OtherHost&) override {}
  std::vector<HostShare> compiled() const override { return {}; }
  std::vector<DeviceInfo> devices() const override { return {}; }
};

}  // namespace evo::testing
