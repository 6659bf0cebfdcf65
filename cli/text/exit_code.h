#pragma once

namespace evo::cli {

/// Exit codes, as in `evo --help`.
enum ExitCode : int {
  kDone = 0,
  kNothingValid = 1,   ///< Done, but no candidate was valid, or a claim was not reproduced.
  kWrongUsage = 2,     ///< Fault::usage.
  kMachine = 3,        ///< Fault::machine.
  kInterrupted = 130,  ///< Ctrl-C, after a clean end.
};

}  // namespace evo::cli
