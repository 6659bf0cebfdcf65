#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "population/code/specialised.h"

/// The provenance of an exported file: a comment for people at its top and one for evo at its end.
namespace evo {

/// The comment at the top, for people.
std::string readable_provenance(const ExportRequest& request, const FileNames& names);
std::string readable_dispatch(const std::vector<ExportRequest>& requests,
                              const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// The comment at the end, for `evo verify`.
std::string provenance_block(const ExportRequest& request, const std::string& launcher);
std::string dispatch_provenance_block(const std::vector<ExportRequest>& requests, const std::string& launcher);

/// The format of that comment. One that older readers cannot read has a higher number. 1 had one kernel and 2 several,
/// both without the launcher's name: it was default_launcher.
inline constexpr int kExportFormat = 4;
inline constexpr std::string_view kProvenanceBegin = "\n/* evo-provenance\n";
inline constexpr std::string_view kProvenanceEnd = "\n*/";

/// The nvcc command that compiles an exported file to the kernels that were timed, without the file's name:
/// "nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -maxrregcount=64". nvcc caps the registers of all kernels of
/// a file alike, so the command has a cap only when all programs have the same one.
std::string nvcc_command(std::span<const ExportRequest> requests);

}  // namespace evo
