#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "population/export/export.h"

namespace evo {

/// Internal to population/: the parts of an exported file. Each is a pure function to text.

/// The kernels of one specialisation as the file names them.
struct Specialised {
  const ExportRequest* request = nullptr;  ///< Whose family and genome they follow.
  std::size_t program = 0;                 ///< Which of its programs.
  Bindings values;                         ///< {D: 64}
  std::string suffix;                      ///< "D64", of several kernels "k0_D64"; empty when the name needs none.
  std::string name_space;                  ///< "evo_fp8_sdpa_D64"
  Bindings scope;                          ///< Everything that is known before a launch: folded into the host code.
};

/// A shape that was timed, and the kernel that was fastest at it.
struct Measured {
  std::size_t kernel = 0;  ///< Index into the file's kernels.
  const Shape* shape = nullptr;
  double us = 0;  ///< Median with warm caches.
};

/// Text that is the same for every task (population/export/export_text.cpp).
extern const std::string_view kHostHelpers;  ///< @HOST@
extern const std::string_view kTensorMapHelper;
extern const std::string_view kMainHead;   ///< Before the reference's kernels.
extern const std::string_view kMainTypes;  ///< @RANK@
extern const std::string_view kMainData;   ///< Drawing, encoding, comparing.
extern const std::string_view kMainRun;    ///< @RANK@ @TASK@ @RELATIVE_L2@ @COSINE@ @MAX_ABS@ @CLAIMANT@ ...

/// `text` with every @NAME@ replaced.
std::string filled(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& values);

/// "head(item, item, ...)tail", broken into lines of at most 110 columns.
std::string wrapped(std::string_view head, const std::vector<std::string>& items, std::string_view tail);

/// Text that stays within the line comment it is put into.
std::string comment_safe(std::string_view text);

/// The name of a kernel within the file: extern "C" names ignore namespaces, so they carry the suffix.
std::string symbol_of(const std::string& kernel, const Specialised& specialised);

/// "(D == 64LL)": the condition under which a call is of this specialisation.
std::string condition_of(const Specialised& specialised);

/// Whether calls may need scratch memory: the launcher then takes a workspace argument.
bool needs_workspace(const std::vector<Specialised>& specialisations);

/// "const unsigned char* q" etc.: the parameter of a tensor in the launcher.
std::string parameter_of(const Tensor& tensor, const Bindings& options, bool output);

/// The kernel source between the lines that mark it, in its namespace.
std::string kernel_block(const std::string& source, const std::string& marker, const std::string& name_space,
                         const std::vector<std::string>& kernels, const std::string& suffix);

/// The helper functions, one launch function for each specialisation, and the public launcher. `measured` is
/// empty unless the launcher chooses among several kernels of one specialisation (export_dispatch).
std::string host_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// What EVO_MAIN adds: the reference, inputs, comparison and timing.
std::string main_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// Shape parameters that are no constants of a kernel, grouped where only their product matters to every
/// tensor's size and to the work: {{"B", "H"}, {"S"}}. What nearness of two shapes is measured in.
std::vector<std::vector<std::string>> size_groups(const Task& task, const Bindings& options);

/// "log(B * H) and log(S)"
std::string size_groups_text(const std::vector<std::vector<std::string>>& groups);

/// The functions that choose a kernel, within the host namespace (population/export/export_choice.cpp).
std::string choice_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// The comment at the top, for people.
std::string readable_provenance(const ExportRequest& request);
std::string readable_dispatch(const std::vector<ExportRequest>& requests,
                              const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// The comment at the end, for `evo verify`.
std::string provenance_block(const ExportRequest& request);
std::string dispatch_provenance_block(const std::vector<ExportRequest>& requests);

/// The lines that enclose source number `index`.
std::string begin_marker(std::size_t index);
std::string end_marker(std::size_t index);
/// Of the provenance block; raised when older readers cannot read it. 2: several kernels.
inline constexpr int kExportFormat = 1;
inline constexpr int kDispatchFormat = 2;
inline constexpr std::string_view kProvenanceBegin = "\n/* evo-provenance\n";
inline constexpr std::string_view kProvenanceEnd = "\n*/";

/// The source as it stands in the file: it ends with a line break.
std::string exported_source(const std::string& source);

}  // namespace evo
