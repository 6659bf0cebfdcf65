#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evaluator/vgpu/machine/finding.h"

namespace evo::program {

/// What a process has done on the virtual GPU, for the command that has started it: a file of JSON, by the number of
/// the process. It is there from the beginning, and written again while kernels run: a program may end at any time.
class Report {
 public:
  /// Empty: none is wanted.
  explicit Report(std::string folder) : folder_(std::move(folder)) {}

  void launched(const std::string& kernel, double us, std::uint64_t warp_instructions);
  void failed(const std::string& reason);
  /// A launch that a GPU would refuse: the program is told, and may have tried.
  void refused(const std::string& reason) { refused_.push_back(reason); }
  void findings(std::vector<vgpu::Finding> findings);
  /// A function that the virtual GPU does not offer.
  void not_offered(const std::string& function);
  void write();
  /// Nothing is reported: a fork of the process that does.
  void forget() { folder_.clear(); }

 private:
  struct Launches {
    std::uint64_t count = 0;
    std::uint64_t warp_instructions = 0;
    double us = 0;
  };
  using Time = std::chrono::steady_clock;
  std::string folder_;
  std::uint64_t count_ = 0;  ///< Launches.
  Time::time_point written_;
  std::map<std::string, Launches> launches_;  ///< By kernel.
  std::vector<std::string> failures_, refused_;
  std::vector<vgpu::Finding> findings_;
  std::vector<std::string> not_offered_;
};

}  // namespace evo::program
