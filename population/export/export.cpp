#include "population/export/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/task/scope.h"
#include "population/export/export_parts.h"

namespace evo {
namespace {

/// Names that the exported host code uses for itself, and C++'s own that a task's author might think of.
const std::set<std::string_view> kTaken = {
    "workspace",     "stream",     "bytes",      "next",     "limit",  "launch",  "arguments", "error",   "start",
    "sizes",         "encode",     "box",        "dims",     "p",      "buffers", "oracle",    "auto",    "bool",
    "char",          "class",      "const",      "double",   "float",  "for",     "if",        "int",     "long",
    "new",           "short",      "signed",     "static",   "struct", "this",    "union",     "void",    "while",
    "strides_bytes", "default",    "delete",     "do",       "else",   "enum",    "operator",  "private", "public",
    "return",        "switch",     "template",   "log_size", "shapes", "exact",   "accepted",  "within",  "Checked",
    "Launch",        "workspaces", "Workspaces",
};

/// What names of the host code's own start with that carry a name or a number: derived values, arguments, limits of
/// kernels.
constexpr std::string_view kTakenStarts[] = {"derived_", "argument_", "limit_"};

void require_name(const std::string& name) {
  const bool taken = kTaken.contains(name) ||
                     std::ranges::any_of(kTakenStarts, [&](std::string_view start) { return name.starts_with(start); });
  if (is_identifier(name) && !taken) return;
  throw usage_error(
      fmt::format("'{}' cannot be exported: it is not usable as a name in C++ host code; rename it", name));
}

void require_names(const ExportRequest& request) {
  const Task& task = request.task;
  require_name(task.name);
  require_name(task.reference_kernel);
  for (const Tensor& tensor : task.inputs) require_name(tensor.name);
  for (const Tensor& tensor : task.outputs) require_name(tensor.name);
  for (const std::string& parameter : task.shape_parameters) require_name(parameter);
  for (const WorkspaceSpec& workspace : request.family.workspaces) require_name(workspace.name);
  for (const TensorMapSpec& map : request.family.tensor_maps) require_name(map.name);
  for (const LaunchSpec& launch : request.family.launches) require_name(launch.kernel);
}

void require_complete(const ExportRequest& request) {
  if (request.programs.empty() || request.programs.size() != request.references.size()) {
    throw usage_error("nothing to export: a kernel and a reference are needed for each specialisation");
  }
  if (request.provenance.target.timed.empty()) throw usage_error("nothing to export: the objective has no timed shape");
}

std::string suffix_of(const Bindings& specialisation) {
  std::string suffix;
  for (const auto& [name, value] : specialisation) {
    suffix += (suffix.empty() ? "" : "_") + name + expr::to_string(value);
  }
  std::replace_if(
      suffix.begin(), suffix.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return suffix;
}

Specialised specialised_program(const ExportRequest& request, std::size_t program, const std::string& prefix) {
  const Bindings& values = request.programs[program].specialisation;
  const std::string constants = suffix_of(values);
  Specialised specialised{&request, program, values, prefix, "evo_" + request.task.name, {}};
  specialised.suffix += (prefix.empty() || constants.empty() ? "" : "_") + constants;
  specialised.name_space += specialised.suffix.empty() ? "_kernels" : "_" + specialised.suffix;
  Bindings known = request.provenance.device.facts;
  known.insert(request.provenance.target.options.begin(), request.provenance.target.options.end());
  known.insert(values.begin(), values.end());
  specialised.scope = scope_of(request.family, request.provenance.genome, known);
  return specialised;
}

std::vector<std::string> kernels_of(const Family& family) {
  std::vector<std::string> kernels;
  for (const LaunchSpec& launch : family.launches) {
    if (std::find(kernels.begin(), kernels.end(), launch.kernel) == kernels.end()) kernels.push_back(launch.kernel);
  }
  return kernels;
}

std::string_view directive_of(std::string_view line, std::string_view name) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  line = trim(line.substr(1));
  if (!line.starts_with(name)) return {};
  return trim(line.substr(name.size()));
}

/// The macros that a source defines: they end with its namespace, so that the next specialisation may define
/// its own.
std::vector<std::string> macros_of(const std::string& source) {
  std::vector<std::string> macros;
  for (const std::string& line : split(source, '\n')) {
    const std::string_view rest = directive_of(line, "define");
    const auto end =
        std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_'; });
    const std::string name(rest.begin(), end);
    if (is_identifier(name) && std::find(macros.begin(), macros.end(), name) == macros.end()) macros.push_back(name);
  }
  return macros;
}

/// Headers are included before the namespace opens; their guards then make the includes within it empty.
std::string includes_of(const std::string& source) {
  std::string includes;
  for (const std::string& line : split(source, '\n')) {
    if (!directive_of(line, "include").empty()) includes += std::string(trim(line)) + "\n";
  }
  return includes;
}

/// NVRTC, which has no host compiler, sees the kernels alone.
std::string unless_nvrtc(const std::string& host) {
  return fmt::format("\n#ifndef __CUDACC_RTC__\n{}#endif  // __CUDACC_RTC__\n", host);
}

std::string preamble(const std::vector<ExportRequest>& requests, bool choosing) {
  const bool maps = std::any_of(requests.begin(), requests.end(),
                                [](const ExportRequest& r) { return !r.family.tensor_maps.empty(); });
  return unless_nvrtc(
      fmt::format("#include <cuda_runtime.h>\n{}\n#include <atomic>\n{}#include <cstddef>\n"
                  "#include <initializer_list>\n#include <mutex>\n",
                  maps ? "#include <cuda.h>\n" : "", choosing ? "#include <cmath>\n" : ""));
}

std::string kernels_code(const std::vector<Specialised>& specialisations) {
  std::string code;
  for (std::size_t i = 0; i < specialisations.size(); ++i) {
    const Specialised& specialised = specialisations[i];
    const std::string& source = specialised.request->programs[specialised.program].source;
    const std::string marked = begin_marker(i) + exported_source(source) + end_marker(i);
    code += '\n';
    code += kernel_block(source, marked, specialised.name_space, kernels_of(specialised.request->family),
                         specialised.suffix);
  }
  return code;
}

void require_exportable(const ExportRequest& request) {
  require_complete(request);
  require_names(request);
}

enum class Naming { by_specialisation, numbered };

/// Every program of every request, in the file's order. `numbered`: names carry the kernel's number, as
/// several kernels have one specialisation.
std::vector<Specialised> specialised_of(const std::vector<ExportRequest>& requests, Naming naming) {
  std::vector<Specialised> all;
  for (const ExportRequest& request : requests) {
    for (std::size_t program = 0; program < request.programs.size(); ++program) {
      const std::string prefix = naming == Naming::numbered ? fmt::format("k{}", all.size()) : "";
      all.push_back(specialised_program(request, program, prefix));
    }
  }
  return all;
}

/// The median with warm caches. Throws usage_error when the shape was not timed.
double warm_us(const Provenance& provenance, const Shape& shape) {
  for (const Timing& timing : provenance.timings) {
    if (!timing.cold && timing.shape == shape.name) return timing.median_us;
  }
  throw usage_error(
      fmt::format("nothing to export: candidate {} has no latency for shape {}", provenance.candidate, shape.name));
}

bool is_of(const Shape& shape, const Bindings& specialisation) {
  return std::all_of(specialisation.begin(), specialisation.end(),
                     [&](const auto& constant) { return shape.parameters.at(constant.first) == constant.second; });
}

/// By size, so that the smaller of equally near shapes comes first, whatever order the kernels came in.
std::vector<Measured> measured_of(const std::vector<Specialised>& specialisations) {
  std::vector<Measured> measured;
  for (std::size_t kernel = 0; kernel < specialisations.size(); ++kernel) {
    const Provenance& provenance = specialisations[kernel].request->provenance;
    for (const Shape& shape : provenance.target.timed) {
      if (!is_of(shape, specialisations[kernel].values)) continue;
      for (const Measured& other : measured) {
        if (other.shape->parameters != shape.parameters) continue;
        throw usage_error(fmt::format("shape {} has two kernels, of candidates {} and {}: give each shape to one",
                                      shape.name, specialisations[other.kernel].request->provenance.candidate,
                                      provenance.candidate));
      }
      measured.push_back({kernel, &shape, warm_us(provenance, shape)});
    }
  }
  const Task& task = specialisations.front().request->task;
  const auto volume = [&](const Measured& m) {
    double product = 1;
    for (const std::string& name : task.shape_parameters)
      product *= static_cast<double>(std::get<std::int64_t>(m.shape->parameters.at(name)));
    return product;
  };
  std::stable_sort(measured.begin(), measured.end(),
                   [&](const Measured& a, const Measured& b) { return volume(a) < volume(b); });
  return measured;
}

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

}  // namespace

std::string filled(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  while (!text.empty()) {
    const auto starts = [&](const auto& entry) { return text.starts_with(entry.first); };
    const auto found = text.front() == '@' ? std::find_if(values.begin(), values.end(), starts) : values.end();
    if (found == values.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return result;
}

std::string wrapped(std::string_view head, const std::vector<std::string>& items, std::string_view tail) {
  constexpr std::size_t kColumns = 110;
  const std::string indent(head.find_first_not_of(' ') + 4, ' ');
  std::string text(head);
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size();
    const std::string item = items[i] + (last ? std::string(tail) : ",");
    if (text.size() - line_start + 1 + item.size() > kColumns) {
      text += "\n";
      line_start = text.size();
      text += indent;
    } else if (i > 0) {
      text += " ";
    }
    text += item;
  }
  return text + "\n";
}

std::string comment_safe(std::string_view text) {
  std::string safe(text);
  std::replace_if(
      safe.begin(), safe.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  // A backslash at the end would pull the next line into the comment.
  while (!safe.empty() && (safe.back() == '\\' || safe.back() == ' ')) safe.pop_back();
  return safe;
}

std::string symbol_of(const std::string& kernel, const Specialised& specialised) {
  return specialised.suffix.empty() ? kernel : kernel + "_" + specialised.suffix;
}

std::string exported_source(const std::string& source) {
  return source.ends_with('\n') ? source : source + "\n";
}

std::string begin_marker(std::size_t index) {
  return fmt::format("// ==== evo kernel {} ====\n", index);
}
std::string end_marker(std::size_t index) {
  return fmt::format("// ==== end of evo kernel {} ====\n", index);
}

std::string kernel_block(const std::string& source, const std::string& marker, const std::string& name_space,
                         const std::vector<std::string>& kernels, const std::string& suffix) {
  std::string renames, ends;
  for (const std::string& kernel : kernels) {
    if (suffix.empty()) continue;
    renames += fmt::format("#define {0} {0}_{1}\n", kernel, suffix);
    ends += fmt::format("#undef {}\n", kernel);
  }
  for (const std::string& macro : macros_of(source)) ends += fmt::format("#undef {}\n", macro);
  return fmt::format("{}namespace {} {{\n{}{}{}{}}}  // namespace {}\n", includes_of(source), name_space, renames,
                     marker.empty() ? exported_source(source) : marker, ends.empty() ? "" : "\n", ends, name_space);
}

std::string export_cuda(const ExportRequest& request) {
  require_exportable(request);
  const std::vector<ExportRequest> requests = {request};
  const std::vector<Specialised> kernels = specialised_of(requests, Naming::by_specialisation);
  return readable_provenance(requests.front()) + preamble(requests, false) + kernels_code(kernels) +
         unless_nvrtc(host_code(kernels, {}) + main_code(kernels, {})) + provenance_block(requests.front());
}

std::string export_dispatch(const std::vector<ExportRequest>& requests) {
  require_alike(requests);
  const std::vector<Specialised> kernels = specialised_of(requests, Naming::numbered);
  const std::vector<Measured> measured = measured_of(kernels);
  return readable_dispatch(requests, kernels, measured) + preamble(requests, true) + kernels_code(kernels) +
         unless_nvrtc(host_code(kernels, measured) + main_code(kernels, measured)) +
         dispatch_provenance_block(requests);
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
  double logarithms = 0;
  for (const Shape& shape : provenance.target.timed) logarithms += std::log(warm_us(provenance, shape));
  provenance.latency_us = std::exp(logarithms / static_cast<double>(provenance.target.timed.size()));
  provenance.objective = objective_of(provenance.target);
  return request;
}

}  // namespace evo
