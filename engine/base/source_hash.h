#pragma once

#include <string>

namespace evo {

/// Of a program: xxh3 of its source and its register cap, hex.
std::string hash_of_source(const std::string& source, int max_registers);

}  // namespace evo
