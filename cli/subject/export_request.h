#pragma once

#include "cli/subject/restore.h"
#include "population/code/request.h"

namespace evo::cli {

/// The exporter's request for a stored candidate. Throws usage_error for a candidate that is not valid.
ExportRequest export_request(const Restored& restored);

}  // namespace evo::cli
