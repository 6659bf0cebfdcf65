#include "cli/subject/salt.h"

#include <random>

namespace evo::cli {

std::uint64_t fresh_salt() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

}  // namespace evo::cli
