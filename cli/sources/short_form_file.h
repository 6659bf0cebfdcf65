#pragma once

#include <string>

#include "engine/short_form/short_form.h"

namespace evo::cli {

/// Reads FILE.json and the files that it names, whose paths are relative to its folder, and checks the task and the
/// family that it makes. Throws usage_error that names the place in the author's files.
ShortForm load_short_form(const std::string& file);

/// Whether the compiler finds a header by itself, which is asked where none of an author's files has the name.
bool is_known_header(const std::string& name);

/// Whether a command's subject is a short form: its name ends so.
bool is_short_form(const std::string& subject);

}  // namespace evo::cli
