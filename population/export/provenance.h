#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "population/export/specialised.h"

/// The provenance of an exported file: a comment for people at its top and one for evo at its end.
namespace evo {

/// The comment at the top, for people.
std::string readable_provenance(const ExportRequest& request);
std::string readable_dispatch(const std::vector<ExportRequest>& requests,
                              const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// The comment at the end, for `evo verify`.
std::string provenance_block(const ExportRequest& request);
std::string dispatch_provenance_block(const std::vector<ExportRequest>& requests);

/// Formats of that comment. A format that older readers cannot read has a higher number.
inline constexpr int kExportFormat = 1;
inline constexpr int kDispatchFormat = 2;  ///< Several kernels.
inline constexpr std::string_view kProvenanceBegin = "\n/* evo-provenance\n";
inline constexpr std::string_view kProvenanceEnd = "\n*/";

/// The nvcc command that compiles an exported file to the kernels that were timed, without the file's name:
/// "nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -maxrregcount=64". nvcc caps the registers of all kernels of
/// a file alike, so the command has a cap only when all programs have the same one.
std::string nvcc_command(std::span<const ExportRequest> requests);

}  // namespace evo
