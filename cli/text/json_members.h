#pragma once

#include <cstdint>
#include <string>

#include "cli/text/json_text.h"

/// Members of JSON that others have written: what is missing, or of another type, reads as nothing.
namespace evo::cli {

std::string member_text(const Json& holder, const char* key);
std::uint64_t member_count(const Json& holder, const char* key);
double member_number(const Json& holder, const char* key);
/// An empty list for none.
const Json& member_list(const Json& holder, const char* key);

}  // namespace evo::cli
