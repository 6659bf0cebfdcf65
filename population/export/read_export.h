#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source_tree.h"
#include "population/code/request.h"

namespace evo {

/// Everything that `evo verify FILE.cu` needs, read from the file alone.
struct Exported {
  std::string launcher;  ///< The name of the launcher, which all kernels of a file share.
  Provenance provenance;
  /// A tree from which load_task and load_families give the task and the one family; its kernel templates are
  /// stubs.
  SourceTree tree;
  std::vector<Program> programs;  ///< Sources verbatim as they stand in the file; no plans: resolve_plan gives them.
  bool edited = false;            ///< The sources are not those that were exported.
};

/// Whether there is the provenance of an exported file.
bool holds_export(std::string_view text);

/// Reads an exported file, which is not trusted: one element for each kernel that export_cuda or
/// export_dispatch wrote, at least one. Its lines may have come to end in CR LF. Throws usage_error in one line,
/// starting with `name`, when its provenance is missing, damaged, from a newer evo or not the only one.
std::vector<Exported> read_exports(std::string_view text, std::string_view name);

}  // namespace evo
