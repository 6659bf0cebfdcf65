#pragma once

#include <string>
#include <vector>

#include "population/code/request.h"

namespace evo {

/// One .cu file that stands alone: provenance, kernels (each specialisation in its own namespace), the launcher
///   cudaError_t LAUNCHER(tensors..., shape parameters..., [void* workspace,] cudaStream_t stream)
/// and, with -DEVO_MAIN, a main that checks it against the reference and times it. Files can be compiled into one
/// program when their launchers' names differ: all other names carry a hash of the file's content. `launcher`: evo_TASK
/// where it is empty. Pure: the same request gives the same text. Throws usage_error when the family's launch plan
/// cannot be written as host code, and when a function cannot have the launcher's name.
std::string export_cuda(const ExportRequest& request, const std::string& launcher = {});

/// The same for several kernels of one task, device and set of options: the launcher chooses at run time. It considers
/// the timed shapes of all requests (`provenance.target.timed`) that have the call's specialised parameters, and runs
/// the kernel of the nearest one; of equally near ones the smaller. The distance is Euclidean in the logarithms of the
/// other parameters. Parameters that affect the work only through their product (B and H of an attention) count as one.
/// Every request must have a timed shape, and no shape may be in two requests. Throws usage_error otherwise, and like
/// export_cuda.
std::string export_dispatch(const std::vector<ExportRequest>& requests, const std::string& launcher = {});

/// Throws usage_error unless the kernels can stand behind one launcher: of one task, device and set of options.
void require_alike(const std::vector<ExportRequest>& requests);

/// A program for nvcc that checks the launcher of an exported file, which is compiled beside it without EVO_MAIN: the
/// main of export_cuda, but with the reference and the limits of these requests, whatever the file says. One request
/// for each kernel of the file.
std::string launcher_check(const std::vector<ExportRequest>& requests, const std::string& launcher);

/// The request for those of its timed shapes that `keep` names alone: programs of other specialisations go,
/// the objective and its latency become those of the shapes that stay. Throws usage_error when none does.
ExportRequest restricted(ExportRequest request, const std::vector<std::string>& keep);

}  // namespace evo
