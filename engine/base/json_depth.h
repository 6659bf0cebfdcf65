#pragma once

#include <string_view>

namespace evo {

/// JSON of others is copied and written by recursion: one that nests deep enough would end the process. What
/// is meant seriously has a handful of levels.
inline constexpr int kMaxJsonDepth = 64;

/// Throws usage_error, which begins with `what`, where lists and objects nest deeper. To be called before the
/// text is parsed, which need not be JSON.
void require_shallow_json(std::string_view text, std::string_view what);

}  // namespace evo
