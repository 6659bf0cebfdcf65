#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/subject/claim.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// The result of calling the C++ launcher of an exported file.
struct LauncherCheck {
  enum class State : std::uint8_t { right, wrong, not_checked };
  State state = State::not_checked;
  std::string why;                  ///< Its fault, or why it was not checked; empty when it is right.
  std::vector<std::string> shapes;  ///< Those at which it was right: "B=1,H=8,S=512,D=64".
};

/// Builds the file with nvcc, beside a program that calls its launcher on the device: right answers, sizes and
/// addresses that must be refused, nothing written beyond the workspace. Reference and limits are the claims'. The
/// program is a process with reduced rights, but it has the file's host code. `claims`: all of the file.
LauncherCheck check_launcher(const std::string& path, const std::vector<Claim>& claims, const DeviceInfo& device);

/// The path of nvcc: in CUDA_HOME, PATH or /usr/local/cuda. Empty when there is none.
std::string find_nvcc();

}  // namespace evo::cli
