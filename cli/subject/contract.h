#pragma once

#include <string_view>

#include "cli/subject/claim.h"

namespace evo::cli {

/// Has the claim of an exported file judged by the task of that name among `templates`, on the shapes that it validates
/// on a device kind beside the file's own: whoever wrote the file wrote the task in it, too. Where there is no such
/// task the file's own stays. Sets claim.contract. Throws usage_error where the file's kernels cannot be those of the
/// installed task.
void use_installed_task(Claim& claim, const SourceTree& templates, std::string_view device_kind);

}  // namespace evo::cli
