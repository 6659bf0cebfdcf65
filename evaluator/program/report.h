#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evaluator/vgpu/machine/finding.h"

namespace evo::program {

/// What a program has done on the virtual GPU, for the command that has started it: a file of JSON that is written
/// again whenever something was found, and at the end.
class Report {
 public:
  /// Empty: none is wanted.
  explicit Report(std::string file) : file_(std::move(file)) {}

  void launched(const std::string& kernel, double us, std::uint64_t warp_instructions);
  void failed(const std::string& reason);
  /// A launch that a GPU would refuse: the program is told, and may have tried.
  void refused(const std::string& reason) { refused_.push_back(reason); }
  void findings(std::vector<vgpu::Finding> findings);
  /// A function that the virtual GPU does not offer.
  void not_offered(const std::string& function);
  void write() const;

 private:
  struct Launches {
    std::uint64_t count = 0;
    std::uint64_t warp_instructions = 0;
    double us = 0;
  };
  std::string file_;
  std::map<std::string, Launches> launches_;  ///< By kernel.
  std::vector<std::string> failures_, refused_;
  std::vector<vgpu::Finding> findings_;
  std::vector<std::string> not_offered_;
};

}  // namespace evo::program
