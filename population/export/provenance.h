#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/record/record.h"
#include "population/code/specialised.h"

/// The provenance of an exported file: a comment for people at its top and one for evo at its end.
namespace evo {

/// The comment at the top, for people.
std::string readable_provenance(const ExportRequest& request, const FileNames& names);
std::string readable_dispatch(const std::vector<ExportRequest>& requests,
                              const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// A program as the provenance tells of it: its source stands in the file.
struct ExportedProgram {
  Bindings specialisation;
  int max_registers = 0;    ///< Program's.
  std::string source_hash;  ///< Likewise.
  std::string text_hash;    ///< Of the source as it stands in the file.
};

EVO_RECORD(ExportedProgram, specialisation, max_registers, source_hash, text_hash);

/// What the comment at the end tells of one kernel, but for its salt, which is text there: hexadecimal digits.
struct ExportedKernel {
  Provenance provenance;
  std::vector<ExportedProgram> programs;
};

template <>
inline constexpr auto kFields<ExportedKernel> = std::tuple(Field{"", &ExportedKernel::provenance},
                                                           Field{"programs", &ExportedKernel::programs});
static_assert(lists_all_fields<ExportedKernel>());

/// The comment at the end, for `evo verify`.
std::string provenance_block(const ExportRequest& request, const std::string& launcher);
std::string dispatch_provenance_block(const std::vector<ExportRequest>& requests, const std::string& launcher);

/// The format of that comment. One that older readers cannot read has a higher number. 1 had one kernel and 2 several,
/// both without the launcher's name: it was default_launcher. Up to 4 an unknown clock or temperature was 0.
inline constexpr int kExportFormat = 5;
inline constexpr std::string_view kProvenanceBegin = "\n/* evo-provenance\n";
inline constexpr std::string_view kProvenanceEnd = "\n*/";

/// The nvcc command that compiles an exported file to the kernels that were timed, without the file's name:
/// "nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -maxrregcount=64". nvcc caps the registers of all kernels of
/// a file alike, so the command has a cap only when all programs have the same one.
std::string nvcc_command(std::span<const ExportRequest> requests);

}  // namespace evo
