#include "cli/subject/package_request.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "cli/sources/shadowing.h"
#include "cli/sources/templates.h"
#include "cli/text/files.h"
#include "engine/base/error.h"
#include "population/code/specialised.h"

namespace evo::cli {
namespace {

std::string file_of(const SourceTree& files, const std::string& path) {
  const auto found = files.find(path);
  return found == files.end() ? "" : found->second;
}

/// The templates at hand; none where there are no templates.
SourceTree templates_at_hand() {
  try {
    return load_templates("");
  } catch (const Error&) {
    return {};
  }
}

std::string torch_reference(const ExportRequest& kernel) {
  const std::string& task = kernel.task.name;
  const std::string path = torch_reference_path(task);
  if (std::string stored = file_of(kernel.files, path); !stored.empty()) return stored;
  const SourceTree templates = templates_at_hand();
  const std::string described = task + "/task.json";
  return file_of(templates, described) == file_of(kernel.files, described) ? file_of(templates, path) : "";
}

}  // namespace

PackageRequest package_request(std::vector<ExportRequest> kernels, const std::string& name) {
  PackageRequest request;
  request.name = name.empty() ? default_launcher(kernels.front().task.name) : name;
  if (!is_function_name(request.name)) {
    throw usage_error(fmt::format("'{}' cannot be the package's name: name it like a function in C, as my_{}",
                                  request.name, kernels.front().task.name));
  }
  request.torch_reference = torch_reference(kernels.front());
  const Provenance& origin = kernels.front().provenance;
  request.under_evos_licence = is_shipped(origin.task, origin.task_hash);
  request.kernels = std::move(kernels);
  return request;
}

void write_folder(const std::filesystem::path& folder, const SourceTree& files) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) &&
      (!std::filesystem::is_directory(folder, error) || !std::filesystem::is_empty(folder, error)))
    throw usage_error(fmt::format("{} is there and not empty: name a new folder", folder.string()));
  write_files(folder, files);
}

}  // namespace evo::cli
