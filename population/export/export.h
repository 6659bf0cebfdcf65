#pragma once

#include <string>
#include <vector>

#include "population/export/request.h"

namespace evo {

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

}  // namespace evo
