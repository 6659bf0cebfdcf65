#include "population/code/specialised.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "engine/base/text.h"
#include "engine/source/kernel_functions.h"
#include "engine/task/scope.h"

namespace evo {
namespace {

/// The keywords of C++20, with its alternative tokens.
const std::set<std::string_view> kKeywords = {
    "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq"};

/// Names that the host code uses itself.
const std::set<std::string_view> kHostNames = {
    "Checked",       "DType",   "Draw",   "Launch",       "Tensor",    "Workspaces",
    "accepted",      "aligned", "all",    "allowed",      "arguments", "box",
    "buffers",       "bytes",   "dims",   "encode",       "error",     "exact",
    "fill",          "kernel",  "launch", "limit",        "log_size",  "next",
    "oracle",        "p",       "shapes", "sizes",        "start",     "stream",
    "strides_bytes", "tensors", "within", "within_reals", "workspace", "workspaces"};

/// Its names that carry another name or a number start with these. The last is what host_name adds.
constexpr std::string_view kHostStarts[] = {"derived_", "argument_", "allow_", "evo_"};

/// extern "C" names ignore namespaces: they carry the specialisation's suffix and the name of the file's content.
/// Templates have no such names.
void rename(KernelBlock& block, const std::string& source, const Specialised& specialised) {
  std::vector<std::string> names = c_names(source);
  for (const std::string& kernel : block.kernels)
    if (!is_instance(kernel)) names.push_back(unqualified(kernel));
  const std::string suffix = specialised.suffix.empty() ? "" : "_" + specialised.suffix;
  for (const std::string& name : names)
    block.renamed[name] = fmt::format("{}{}_{}", name, suffix, specialised.names.content);
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

Specialised specialised_program(const ExportRequest& request, std::size_t program, const FileNames& names,
                                const std::string& prefix) {
  const Bindings& values = request.programs[program].specialisation;
  const std::string constants = suffix_of(values);
  Specialised specialised{&request, program, names, values, prefix, {}, {}};
  specialised.suffix += (prefix.empty() || constants.empty() ? "" : "_") + constants;
  specialised.name_space = names.name_space(specialised.suffix.empty() ? "kernels" : specialised.suffix);
  const Bindings known = joined(request.provenance.device.facts, request.provenance.target.options, values);
  specialised.scope = scope_of(request.family, request.provenance.genome, known);
  return specialised;
}

}  // namespace

std::vector<Specialised> specialised_of(const std::vector<ExportRequest>& requests, const FileNames& names,
                                        Naming naming) {
  std::vector<Specialised> all;
  for (const ExportRequest& request : requests) {
    for (std::size_t program = 0; program < request.programs.size(); ++program) {
      const std::string prefix = naming == Naming::numbered ? fmt::format("k{}", all.size()) : "";
      all.push_back(specialised_program(request, program, names, prefix));
    }
  }
  return all;
}

bool is_of(const Shape& shape, const Bindings& specialisation) {
  return std::all_of(specialisation.begin(), specialisation.end(),
                     [&](const auto& constant) { return shape.parameters.at(constant.first) == constant.second; });
}

std::string kernel_of(const LaunchSpec& launch, const Specialised& specialised) {
  return launch.kernel_name.render(specialised.scope);
}

std::string reference_kernel_of(const Specialised& specialised) {
  return TextTemplate::parse(specialised.request->task.reference_kernel).render(specialised.scope);
}

KernelBlock block_of(const Specialised& specialised) {
  KernelBlock block{specialised.name_space, {}, {}};
  for (const LaunchSpec& launch : specialised.request->family.launches) {
    std::string kernel = kernel_of(launch, specialised);
    if (std::ranges::find(block.kernels, kernel) == block.kernels.end()) block.kernels.push_back(std::move(kernel));
  }
  rename(block, specialised.request->programs.at(specialised.program).source, specialised);
  return block;
}

KernelBlock reference_block_of(const Specialised& specialised) {
  KernelBlock block{specialised.name_space + "_reference", {reference_kernel_of(specialised)}, {}};
  const std::string& source = specialised.request->references.at(specialised.program).source;
  rename(block, source, specialised);
  const std::map<std::string, std::string> others = block_of(specialised).renamed;
  for (auto& [name, other] : block.renamed) {
    if (others.contains(name)) other += "_reference";
  }
  return block;
}

std::string host_name(const std::string& name) {
  const bool taken = kKeywords.contains(name) || kHostNames.contains(name) ||
                     std::ranges::any_of(kHostStarts, [&](std::string_view start) { return name.starts_with(start); });
  return taken ? "evo_" + name : name;
}

std::string default_launcher(const std::string& task) {
  return "evo_" + task;
}

bool is_function_name(const std::string& name) {
  return is_identifier(name) && !name.starts_with('_') && !kKeywords.contains(name) && name != "main";
}

expr::WrittenNames written_parameters(const Task& task) {
  expr::WrittenNames written;
  for (const std::string& name : task.shape_parameters)
    if (host_name(name) != name) written[name] = host_name(name);
  return written;
}

std::vector<TensorPlace> present_tensors(const ExportRequest& request) {
  std::vector<TensorPlace> places;
  for (const auto* tensors : {&request.task.inputs, &request.task.outputs}) {
    for (const Tensor& tensor : *tensors) {
      if (is_present(tensor, request.provenance.target.options))
        places.push_back({&tensor, tensors == &request.task.outputs});
    }
  }
  return places;
}

std::string pointer_type(const TensorPlace& place, const ExportRequest& request) {
  const DType dtype = dtype_of(*place.tensor, request.provenance.target.options);
  const bool plain = dtype == DType::boolean || (bits_of(dtype) > 8 && dtype != DType::f16 && dtype != DType::bf16);
  return fmt::format("{}{}*", place.output ? "" : "const ", plain ? cuda_name_of(dtype) : "void");
}

Expression as_condition(const Expression& expression) {
  return Expression::parse(fmt::format("true && ({})", expression.text()));
}

std::string condition_of(const Specialised& specialised) {
  std::vector<std::string> conditions;
  for (const auto& [name, value] : specialised.values)
    conditions.push_back(host_name(name) + " == " + expr::to_string(value));
  return conditions.empty() ? "true" : fmt::format("{}", fmt::join(conditions, " && "));
}

bool needs_workspace(const std::vector<Specialised>& specialisations) {
  for (const Specialised& specialised : specialisations) {
    for (const WorkspaceSpec& workspace : specialised.request->family.workspaces) {
      const std::optional<Value> used = workspace.when.evaluate_partially(specialised.scope);
      if (!used || *used == Value(true)) return true;
    }
  }
  return false;
}

}  // namespace evo
