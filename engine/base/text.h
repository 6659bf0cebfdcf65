#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// Without blanks, tabs and carriage returns at both ends.
std::string_view trim(std::string_view text);

/// The parts between separators; an empty text has one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// "a, b, c"; "none" for an empty list.
std::string list_of(const std::vector<std::string>& names);

/// "; did you mean 'smem_per_block'?" when a name is close to the wrong one, else "; there are a, b, c".
std::string suggestion(std::string_view wrong, const std::vector<std::string>& names);

/// Letters, digits and '_', not starting with a digit.
bool is_identifier(std::string_view text);

}  // namespace evo
