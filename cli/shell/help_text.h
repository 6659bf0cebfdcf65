#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What `evo --help`, `evo COMMAND --help` and the manual pages have beside what commands say of their options.
namespace evo::cli {

/// The heading that a command stands under in `evo --help`.
std::string command_group(std::string_view command);

/// Lines that can be typed as they stand, most without a GPU; empty for a command without any.
std::string command_example(std::string_view command);

/// Help whose lines have at most so many columns. What goes on stands below the text that it belongs to.
std::string wrapped_help(std::string_view help, std::size_t columns);

}  // namespace evo::cli
