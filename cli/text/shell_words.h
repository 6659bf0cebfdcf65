#pragma once

#include <string>
#include <string_view>

namespace evo::cli {

/// A word as it is typed in a shell: quoted where it must be.
std::string shell_word(std::string_view word);

}  // namespace evo::cli
