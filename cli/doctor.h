#pragma once

#include <string>
#include <vector>

namespace evo::cli {

/// One thing that was looked at.
struct Check {
  enum class State {
    works,
    limited,  ///< Something is missing, but evo runs without it.
    missing,  ///< Nothing can run without it.
  };
  std::string subject;  ///< "NVRTC", "GPU 0", "database": stable, for programs.
  State state = State::works;
  std::string finding;
  std::string fix;      ///< What to do; empty when it works.
};
std::string name_of(Check::State state);

}  // namespace evo::cli
