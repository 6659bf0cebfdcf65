#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "population/export/export.h"

namespace evo::test {

/// Every file under a templates folder.
SourceTree load_tree(const std::filesystem::path& templates);

/// tests/population/exported/templates: a toy task with every feature of a launch plan.
SourceTree toy_tree();

/// A request for the genome of `tree`'s task nearest to `wish`, on a device with compute capability `sm`
/// / 10.
ExportRequest export_request(const SourceTree& tree, const std::string& task, const std::vector<std::string>& shapes,
                             const Bindings& wish, int sm);

/// A program's source as it stands in an exported file of this request.
std::string source_in_export(const ExportRequest& request, std::size_t program);

/// What a shell command printed, standard error included, and its exit code.
struct CommandResult {
  int exit_code = 0;
  std::string output;
};
CommandResult run_command(const std::string& command);

/// The folder of cuda.h; empty when there is none.
std::string cuda_include_folder();
/// The path of nvcc; empty when there is none.
std::string nvcc_path();

}  // namespace evo::test
