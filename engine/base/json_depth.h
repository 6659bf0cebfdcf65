#pragma once

#include <string_view>

namespace evo {

/// The deepest nesting that is read. JSON is copied and written by recursion, so deeper nesting could overflow the
/// stack. Real files have a handful of levels.
inline constexpr int kMaxJsonDepth = 64;

/// Throws usage_error, which begins with `what`, when lists and objects nest deeper. To be called before the text is
/// parsed: it need not be JSON.
void require_shallow_json(std::string_view text, std::string_view what);

}  // namespace evo
