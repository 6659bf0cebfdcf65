#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include <algorithm>

#include "cli/proposer/guarded_command.h"
#include "engine/base/error.h"

namespace evo::fuzz {

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

const Target& target_named(const std::string& name) {
  const auto at = std::ranges::find(targets(), name, &Target::name);
  if (at == targets().end()) throw usage_error("there is no target '" + name + "'");
  return *at;
}

void begin(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == cli::kGuard) ::exit(cli::guard({argv + 2, argv + argc}));
  ::setenv("EVO_PYTHON", "true", 1);  // It says nothing, at once.
}

void read_or_refuse(const Target& target, const std::string& text) {
  try {
    target.read(text);
  } catch (const Error&) {
    // One line for the user.
  }
}

}  // namespace evo::fuzz
