#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "population/package/package.h"

namespace evo::cli {

/// The request for a package. Newer runs store the task's reference.py with the kernels; for others it is taken from
/// the templates, whose task.json must be the kernels'.
PackageRequest package_request(std::vector<ExportRequest> kernels, const std::string& name);

/// Writes the files into a folder, which is made where there is none. Throws usage_error for a folder that is not
/// empty.
void write_folder(const std::filesystem::path& folder, const SourceTree& files);

}  // namespace evo::cli
