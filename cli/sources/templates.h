#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"

namespace evo::cli {

/// The folder of templates: `wish` (--templates) if it is given, else $EVO_TEMPLATES, else a folder relative to the
/// executable (../templates, ../../templates, ../share/evo/templates). A folder counts when it holds a task.
/// Throws usage_error that says where it looked, or what is wrong with the folder that was named.
std::filesystem::path find_templates(const std::string& wish);

/// Reads the regular files *.json, *.cu, *.cuh, *.npy, *.bin and *.py below `folder`. Hidden files are left out. Throws
/// usage_error for links that leave the folder, files above 1 MiB, more than 10,000 files, and what cannot be
/// read.
SourceTree read_templates(const std::filesystem::path& folder);

/// The tree and the shipped templates: a task or a file of include/ replaces the shipped one of the same name.
SourceTree with_shipped(SourceTree tree);

/// The templates that find_templates names, and the shipped ones: a task or a file of include/ replaces the shipped one
/// of the same name.
SourceTree load_templates(const std::string& wish);

/// The names of its tasks, in order, without reading them.
std::vector<std::string> task_folder_names(const std::string& wish);

}  // namespace evo::cli
