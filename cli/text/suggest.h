#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace evo::cli {

/// "unknown task 'fp8_spda'; did you mean 'fp8_sdpa'? (there are fp8_qkt, fp8_sdpa)". `where` says what the
/// names belong to ("of task fp8_sdpa"); it may be empty.
Error unknown_name(std::string_view what, std::string_view typed, const std::vector<std::string>& names,
                   std::string_view where = {});

}  // namespace evo::cli
