#pragma once

#include <stdexcept>
#include <string>

namespace evo::vgpu {

/// A module that the virtual GPU cannot load: malformed PTX or something it does not know. Caught at the
/// device's door and handed on as a Failure (Verdict::unsupported).
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace evo::vgpu
