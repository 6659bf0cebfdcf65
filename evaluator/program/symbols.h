#pragma once

#include <string>

namespace evo::program {

/// This library's entry point of a name; null: it has none.
void* function_called(const std::string& name);

/// Whether there is one that does more than to refuse.
bool is_offered(const std::string& name);

}  // namespace evo::program
