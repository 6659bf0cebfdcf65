#pragma once

#include <stdexcept>

namespace evo::vgpu {

/// A module that the virtual GPU cannot load: malformed or unknown PTX. The device catches it and returns a Failure
/// (Verdict::unsupported).
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace evo::vgpu
