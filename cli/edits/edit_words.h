#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/base/source_tree.h"

namespace evo::cli {

/// The edits that a candidate's files carry: [{operator, file, line, what}].
nlohmann::ordered_json edits_json(const SourceTree& files);

/// What an edited candidate has beyond its parent, by the files of both: a line for each edit that came or went.
std::string edit_change(const SourceTree& parent, const SourceTree& child);

}  // namespace evo::cli
