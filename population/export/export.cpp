#include "population/export/export.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/mean.h"
#include "engine/base/text.h"
#include "population/code/kernel_source.h"
#include "population/code/specialised.h"
#include "population/code/target_guard.h"
#include "population/export/choice.h"
#include "population/export/host_code.h"
#include "population/export/main_code.h"
#include "population/export/provenance.h"

namespace evo {
namespace {

void require_name(const std::string& name) {
  if (is_identifier(name)) return;
  throw usage_error(fmt::format("'{}' cannot be exported: it is no name in C++; rename it", name));
}

void require_names(const ExportRequest& request) {
  const Task& task = request.task;
  require_name(task.name);
  for (const Tensor& tensor : task.inputs) require_name(tensor.name);
  for (const Tensor& tensor : task.outputs) require_name(tensor.name);
  for (const std::string& parameter : task.shape_parameters) require_name(parameter);
  for (const WorkspaceSpec& workspace : request.family.workspaces) require_name(workspace.name);
  for (const TensorMapSpec& map : request.family.tensor_maps) require_name(map.name);
}

void require_complete(const ExportRequest& request) {
  const std::size_t references = has_torch_reference(request.task) ? 0 : request.programs.size();
  if (request.programs.empty() || request.references.size() != references)
    throw usage_error("nothing to export: a kernel and a reference are needed for each specialisation");
  if (request.provenance.target.timed.empty()) throw usage_error("nothing to export: the objective has no timed shape");
}

/// NVRTC, which has no host compiler, sees the kernels alone.
std::string unless_nvrtc(const std::string& host) {
  return fmt::format("\n#ifndef __CUDACC_RTC__\n{}#endif  // __CUDACC_RTC__\n", host);
}

/// The headers of the kernels, each once.
std::string kernel_includes(const std::vector<Specialised>& specialisations) {
  std::string includes;
  for (const Specialised& specialised : specialisations) {
    for (const std::string& include :
         split(includes_of(specialised.request->programs[specialised.program].source), '\n'))
      if (!include.empty() && includes.find(include + "\n") == std::string::npos) includes += include + "\n";
  }
  return includes.empty() ? "" : "\n" + includes;
}

/// The headers that the host code needs, and the beginning of what a library does not show.
std::string preamble(const std::string& host) {
  const auto uses = [&](std::string_view name) { return host.find(name) != std::string::npos; };
  std::string cuda;
  if (uses("CUtensorMap")) cuda += "#include <cuda.h>\n";
  if (uses("__nv_bfloat16")) cuda += "#include <cuda_bf16.h>\n";
  if (uses("__half")) cuda += "#include <cuda_fp16.h>\n";
  if (uses("__nv_cvt_float_to_fp8")) cuda += "#include <cuda_fp8.h>\n";
  const std::string strings = uses("std::memcpy(kept") ? "#include <cstring>\n" : "";
  const bool math =
      uses("std::log(") || uses("std::sqrt(") || uses("std::exp(") || uses("std::pow(") || uses("std::ilogb(");
  return unless_nvrtc(fmt::format(
      "#include <cuda_runtime.h>\n{}\n{}{}#include <cstddef>\n#include <cstdint>\n{}#include <initializer_list>\n{}"
      "\n// Files like this one can be linked into one program and loaded into one process: up to the launcher all "
      "names\n"
      "// carry a hash of this file's content, and a library does not show them.\n"
      "#pragma GCC visibility push(hidden)\n",
      cuda, uses("std::atomic") ? "#include <atomic>\n" : "", math ? "#include <cmath>\n" : "", strings,
      uses("std::mutex") ? "#include <mutex>\n" : ""));
}

std::string kernels_code(const std::vector<Specialised>& specialisations, const TargetGuard& guard) {
  std::string code;
  for (std::size_t i = 0; i < specialisations.size(); ++i) {
    const Specialised& specialised = specialisations[i];
    const std::string& source = specialised.request->programs[specialised.program].source;
    const std::string marked = begin_marker(i) + guarded_source(exported_source(source), guard.macro) + end_marker(i);
    code += '\n';
    code += kernel_block(source, marked, block_of(specialised));
  }
  return code;
}

/// Everything between the two comments of a file.
std::string code_of(const std::vector<Specialised>& kernels, const std::vector<Measured>& measured,
                    const TargetGuard& guard) {
  const std::string host = host_code(kernels, measured, guard);
  const bool checks_itself = !has_torch_reference(kernels.front().request->task);
  return kernel_includes(kernels) + definition_of(guard) + preamble(host) + kernels_code(kernels, guard) +
         unless_nvrtc(host + (checks_itself ? main_code(kernels, measured) : ""));
}

void require_exportable(const ExportRequest& request) {
  require_complete(request);
  require_names(request);
}

/// The launcher's name, which is the task's where none is asked for. Throws usage_error for what cannot be one.
std::string launcher_of(const Task& task, const std::string& wish) {
  if (wish.empty()) return default_launcher(task.name);
  if (is_function_name(wish)) return wish;
  throw usage_error(
      fmt::format("'{}' cannot be the launcher's name: name it like a function in C, as my_{}", wish, task.name));
}

/// `provenance` has everything that decides what the file holds.
FileNames names_of(const std::string& launcher, const std::string& provenance) {
  constexpr std::size_t kDigits = 12;  // Enough that two files of one program differ.
  return {launcher, hash_hex(provenance).substr(0, kDigits)};
}

}  // namespace

void require_alike(const std::vector<ExportRequest>& requests) {
  if (requests.empty()) throw usage_error("nothing to export: no kernel was given");
  const ExportRequest& first = requests.front();
  for (const ExportRequest& request : requests) {
    require_exportable(request);
    const Provenance& a = first.provenance;
    const Provenance& b = request.provenance;
    if (a.task_hash == b.task_hash && a.target.options == b.target.options &&
        device_key(a.device) == device_key(b.device))
      continue;
    throw usage_error(
        fmt::format("candidates {} and {} cannot share a launcher: they are of another task, device or set of options",
                    a.candidate, b.candidate));
  }
}

std::string export_cuda(const ExportRequest& request, const std::string& launcher) {
  require_exportable(request);
  const std::vector<ExportRequest> requests = {request};
  const std::string name = launcher_of(request.task, launcher);
  const std::string provenance = provenance_block(request, name);
  const FileNames names = names_of(name, provenance);
  const std::vector<Specialised> kernels = specialised_of(requests, names, Naming::by_specialisation);
  return readable_provenance(requests.front(), names) + code_of(kernels, {}, target_guard(requests)) + provenance;
}

std::string export_dispatch(const std::vector<ExportRequest>& requests, const std::string& launcher) {
  require_alike(requests);
  const std::string name = launcher_of(requests.front().task, launcher);
  const std::string provenance = dispatch_provenance_block(requests, name);
  const FileNames names = names_of(name, provenance);
  const std::vector<Specialised> kernels = specialised_of(requests, names, Naming::numbered);
  const std::vector<Measured> measured = measured_of(kernels);
  return readable_dispatch(requests, kernels, measured) + code_of(kernels, measured, target_guard(requests)) +
         provenance;
}

std::string launcher_check(const std::vector<ExportRequest>& requests, const std::string& launcher) {
  for (const ExportRequest& request : requests) require_exportable(request);
  const std::vector<Specialised> kernels = specialised_of(requests, {launcher, "check"}, Naming::numbered);
  return "#include <cuda_runtime.h>\n#include <cstddef>\n\n" + launcher_declarations(kernels) + "\n#define EVO_MAIN\n" +
         main_code(kernels, {});
}

ExportRequest restricted(ExportRequest request, const std::vector<std::string>& keep) {
  Provenance& provenance = request.provenance;
  const auto gone = [&](const std::string& shape) { return std::find(keep.begin(), keep.end(), shape) == keep.end(); };
  const std::size_t before = provenance.target.timed.size();
  std::erase_if(provenance.target.timed, [&](const Shape& shape) { return gone(shape.name); });
  if (provenance.target.timed.empty()) throw usage_error("nothing to export: the objective has no timed shape");
  if (provenance.target.timed.size() == before) return request;

  const auto unused = [&](const Bindings& specialisation) {
    return std::none_of(provenance.target.timed.begin(), provenance.target.timed.end(),
                        [&](const Shape& shape) { return is_of(shape, specialisation); });
  };
  const auto of_unused = [&](const Program& program) { return unused(program.specialisation); };
  for (const Program& program : request.programs) {
    if (!of_unused(program)) continue;
    std::erase_if(provenance.target.validated,
                  [&](const Shape& shape) { return is_of(shape, program.specialisation); });
  }
  std::erase_if(request.programs, of_unused);
  std::erase_if(request.references, of_unused);
  std::erase_if(provenance.timings, [&](const Timing& timing) { return gone(timing.shape); });
  std::vector<double> latencies;
  for (const Shape& shape : provenance.target.timed) latencies.push_back(warm_us(provenance, shape));
  provenance.latency_us = geometric_mean(latencies);
  provenance.objective = objective_of(provenance.target);
  return request;
}

}  // namespace evo
