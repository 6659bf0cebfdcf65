#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "population/package/package.h"

namespace evo::cli {

/// What a package is written of. What the task computes in torch is stored with the kernels of newer runs; for others
/// it is the one among the templates, whose task.json must be the kernels'.
PackageRequest package_request(std::vector<ExportRequest> kernels, const std::string& name);

/// Writes the files into a folder, which is made where there is none. Throws usage_error for a folder that is not
/// empty.
void write_folder(const std::filesystem::path& folder, const SourceTree& files);

}  // namespace evo::cli
