#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/candidate.h"
#include "engine/task/evaluation.h"
#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "engine/task/task.h"
#include "population/store/store.h"

namespace evo {

/// What an exported file says about where it comes from and what it promises.
struct Provenance {
  std::string task;
  std::string task_hash;
  Genome genome;
  Target target;  ///< Options, timed and validated shapes of the run.
  DeviceRecord device;
  std::string objective;
  double latency_us = 0;  ///< The objective's value.
  double worst_relative_l2 = 0;
  std::vector<Timing> timings;  ///< Without samples.
  std::uint64_t salt = 0;
  RunId run = 0;
  CandidateId candidate = 0;
  std::string evo_version;
  std::string nvrtc_version;
  std::vector<std::string> compile_flags;  ///< Beside the architecture and the register cap.
};

struct ExportRequest {
  SourceTree files;  ///< At least the task's and the family's JSON and the reference (Store::task_files).
  Task task;
  Family family;
  std::vector<Program> programs;    ///< One for each specialisation: specialisation, source, max_registers are read.
  std::vector<Program> references;  ///< reference_program for the same specialisations, in the same order.
  Provenance provenance;
};

/// One .cu file that stands alone: provenance, kernels (each specialisation in its own namespace), the
/// launcher
///   cudaError_t evo_TASK(tensors..., shape parameters..., [void* workspace,] cudaStream_t stream)
/// and, with -DEVO_MAIN, a main that checks it against the reference and times it. Pure: the same request
/// gives the same text. Throws usage_error when the family's launch plan cannot be written as host code.
std::string export_cuda(const ExportRequest& request);

/// The same for several kernels of one task, device and set of options: the launcher chooses at run time. Of
/// the shapes that `provenance.target.timed` of any request names, those with the call's specialised
/// parameters are looked at, and the nearest one's kernel runs: the distance is Euclidean in the logarithms
/// of the other parameters, those of which only the product matters to the work (B and H of an attention)
/// taken together; of equally near ones the smaller. Every request is timed at least at one shape and no
/// shape stands in two. Throws usage_error otherwise, and as export_cuda.
std::string export_dispatch(const std::vector<ExportRequest>& requests);

/// The request for those of its timed shapes that `keep` names alone: programs of other specialisations go,
/// the objective and its latency become those of the shapes that stay. Throws usage_error when none does.
ExportRequest restricted(ExportRequest request, const std::vector<std::string>& keep);

/// How nvcc makes of the file that export_cuda or export_dispatch writes for these the kernels that were timed, but for
/// the file's name: "nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -maxrregcount=64". nvcc caps the registers
/// of all kernels of a file alike: the cap is there when all have the same.
std::string nvcc_command(std::span<const ExportRequest> requests);

/// What `evo verify FILE.cu` needs, read from the file alone.
struct Exported {
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

/// As read_exports, for a file of one kernel; throws usage_error for a file of several.
Exported read_export(std::string_view text, std::string_view name);

}  // namespace evo
