#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace evo::cli {

/// "unknown task 'fp8_spda'; did you mean 'fp8_sdpa'? (there are fp8_qkt, fp8_sdpa)". `where` may be empty or
/// say of what the names are ("of task fp8_sdpa").
Error unknown_name(std::string_view what, std::string_view typed, const std::vector<std::string>& names,
                   std::string_view where = {});

}  // namespace evo::cli
