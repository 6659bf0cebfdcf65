#pragma once

#include <cstdint>

namespace evo::cli {

/// A random number of 64 bits. It is mixed into the seeds of test inputs, which nobody can then know in advance.
std::uint64_t fresh_salt();

}  // namespace evo::cli
