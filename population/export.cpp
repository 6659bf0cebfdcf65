#include "population/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/error.h"
#include "engine/scope.h"
#include "engine/text.h"
#include "population/export_parts.h"

namespace evo {
namespace {

/// Names that the exported host code uses for itself, and C++'s own that a task's author might think of.
const std::set<std::string_view> kTaken = {
    "workspace", "stream", "bytes",    "next",    "limit",         "launch",  "arguments", "error",
    "start",     "fits",   "encode",   "box",     "dims",          "p",       "buffers",   "oracle",
    "auto",      "bool",   "char",     "class",   "const",         "double",  "float",     "for",
    "if",        "int",    "long",     "new",     "short",         "signed",  "static",    "struct",
    "this",      "union",  "void",     "while",   "strides_bytes", "default", "delete",    "do",
    "else",      "enum",   "operator", "private", "public",        "return",  "switch",    "template",
};

void require_name(const std::string& name) {
  if (is_identifier(name) && !kTaken.contains(name)) return;
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
  if (request.provenance.target.timed.empty())
    throw usage_error("nothing to export: the objective has no timed shape");
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

Specialised specialised_of(const ExportRequest& request, const Bindings& values) {
  Specialised specialised{values, suffix_of(values), "evo_" + request.task.name, {}};
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
    if (std::find(kernels.begin(), kernels.end(), launch.kernel) == kernels.end())
      kernels.push_back(launch.kernel);
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
    if (is_identifier(name) && std::find(macros.begin(), macros.end(), name) == macros.end())
      macros.push_back(name);
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

std::string preamble(const ExportRequest& request) {
  return fmt::format("#include <cuda_runtime.h>\n{}\n#include <atomic>\n#include <cstddef>\n",
                     request.family.tensor_maps.empty() ? "" : "#include <cuda.h>\n");
}

}  // namespace

std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  while (!text.empty()) {
    const auto starts = [&](const auto& entry) { return text.starts_with(entry.first); };
    const auto found =
        text.front() == '@' ? std::find_if(values.begin(), values.end(), starts) : values.end();
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
  return fmt::format("{}namespace {} {{\n{}{}{}{}}}  // namespace {}\n", includes_of(source), name_space,
                     renames, marker.empty() ? exported_source(source) : marker, ends.empty() ? "" : "\n",
                     ends, name_space);
}

std::string export_cuda(const ExportRequest& request) {
  require_complete(request);
  require_names(request);
  std::vector<Specialised> specialisations;
  for (const Program& program : request.programs)
    specialisations.push_back(specialised_of(request, program.specialisation));
  std::string text = readable_provenance(request) + preamble(request);
  for (std::size_t i = 0; i < specialisations.size(); ++i) {
    const std::string marked = begin_marker(i) + exported_source(request.programs[i].source) + end_marker(i);
    text += "\n" + kernel_block(request.programs[i].source, marked, specialisations[i].name_space,
                                kernels_of(request.family), specialisations[i].suffix);
  }
  return text + host_code(request, specialisations) + main_code(request, specialisations) +
         provenance_block(request);
}

}  // namespace evo
