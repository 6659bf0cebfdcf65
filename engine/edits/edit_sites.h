#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "engine/edits/source_edit.h"

namespace evo {

/// The edits of a file that can be made, by operator.
using EditSites = std::array<std::vector<SourceEdit>, kEditOperators.size()>;

/// All edits of a template file or kernel that each operator can make. Lines of directives and template holes stay
/// whole: no edit begins or ends in one, moves a statement across one, or copies one.
EditSites edit_sites(std::string_view file, std::string_view text);

}  // namespace evo
