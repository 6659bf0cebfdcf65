#pragma once

#include <string_view>

#include "cli/subject/claim.h"

namespace evo::cli {

/// Replaces the task of an exported file's claim by the installed task of that name, and adds the shapes that this task
/// validates on the device kind. The author of a file has also written the task in it, so the file's own task proves
/// little. It stays only where `templates` has none of its name. Sets claim.contract. Throws usage_error when the
/// file's kernels do not fit the installed task.
void use_installed_task(Claim& claim, const SourceTree& templates, std::string_view device_kind);

}  // namespace evo::cli
