#include "population/export/provenance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/expression/json_value.h"
#include "engine/record/record_json.h"
#include "engine/source/compile_options.h"
#include "engine/source/template.h"
#include "population/code/kernel_source.h"
#include "population/code/target_guard.h"
#include "population/code/text.h"
#include "population/export/choice.h"

namespace evo {
namespace {

using nlohmann::ordered_json;

std::string line(std::string_view text) {
  return comment_safe(fmt::format("// {}", text)) + "\n";
}

std::string title_line(const Provenance& p, const Task& task) {
  return line(task.summary.empty() ? p.task : fmt::format("{}: {}", p.task, task.summary));
}

std::string timing_line(const Timing& timing) {
  return line(fmt::format("  {:<10} {} {}: {:.2f} us [{:.2f}, {:.2f}]", "", timing.cold ? "cold" : "warm", timing.shape,
                          timing.median_us, timing.low_us, timing.high_us));
}

/// The GPU and its conditions during timing; empty for a virtual one.
std::string gpu_lines(const Provenance& p) {
  std::string text = p.device.uuid.empty() ? "" : line(fmt::format("  GPU        {}", p.device.uuid));
  const Timing* clocked = nullptr;
  int others = 0;
  for (const Timing& timing : p.timings) {
    others = std::max(others, timing.conditions.other_processes);
    if (clocked == nullptr && timing.conditions.sm_mhz_high) clocked = &timing;
  }
  if (clocked != nullptr) text += line(fmt::format("  clocks     {}", to_text(clocked->conditions)));
  if (others > 0) text += line(fmt::format("  beside     {} other process(es) on the GPU", others));
  return text;
}

/// The register cap that all programs have; 0: none, or not all the same.
int common_cap(std::span<const ExportRequest> requests) {
  std::set<int> caps;
  for (const ExportRequest& request : requests) {
    for (const Program& program : request.programs) caps.insert(program.max_registers);
  }
  return caps.size() == 1 ? *caps.begin() : 0;
}

/// What every source asks its compiler for.
std::vector<std::string> common_options(std::span<const ExportRequest> requests) {
  std::optional<std::vector<std::string>> common;
  for (const ExportRequest& request : requests) {
    for (const Program& program : request.programs) {
      const std::vector<std::string> own = compile_options_in(program.source);
      if (!common) common = own;
      std::erase_if(*common, [&](const std::string& option) { return std::ranges::find(own, option) == own.end(); });
    }
  }
  return common.value_or(std::vector<std::string>());
}

std::string origin_line(const Provenance& p, const std::string& what) {
  return line(fmt::format("Found by evo {} ({}) on {} ({}, driver {}), compiled with NVRTC {}{}.", p.evo_version, what,
                          p.device.name, p.device.arch, p.device.driver.empty() ? "none" : p.device.driver,
                          p.nvrtc_version,
                          p.compile_flags.empty() ? "" : fmt::format(" {}", fmt::join(p.compile_flags, " "))));
}

/// What is to be known of the task, and where kernels of the objective do not keep what its limits promise.
std::string caution_lines(const ExportRequest& request) {
  std::string text;
  if (!request.remark.empty()) text += line(fmt::format("  CAUTION    the task is {}", request.remark));
  for (const std::string& sentence : cautions(request.files, request.task.name, request.provenance.target.objective))
    text += line(fmt::format("  CAUTION    {}", sentence));
  return text;
}

std::string measured_word(const Provenance& p) {
  return kind_named(p.device.kind).modelled ? "MODELLED, not measured" : "measured";
}

/// How to compile, check and verify the file.
std::string use_lines(std::span<const ExportRequest> requests, const std::string& launcher) {
  const Task& task = requests.front().task;
  const std::string nvcc = nvcc_command(requests);
  const std::string check = line(fmt::format("Check and time it:  {} -DEVO_MAIN FILE.cu -o best && ./best [{}]", nvcc,
                                             fmt::join(task.shape_parameters, ",")));
  return line(fmt::format("A launcher, {} below:  {} -c FILE.cu", launcher, nvcc)) +
         (has_torch_reference(task) ? "" : check) + line("Do it all again from this file alone:  evo verify FILE.cu") +
         "\n";
}

std::string sizes_text(const Task& task, const Shape& shape) {
  return joined(task.shape_parameters, " ", [&](const std::string& name) {
    return fmt::format("{}={}", name, expr::to_string(shape.parameters.at(name)));
  });
}

const Program& program_of(const Specialised& specialised) {
  return specialised.request->programs[specialised.program];
}

/// One kernel of a file of several: its candidate, and the shapes at which it was the fastest.
std::string kernel_lines(const std::vector<Specialised>& kernels, std::size_t number, bool same_cap,
                         const std::vector<Measured>& measured) {
  const ExportRequest& request = *kernels[number].request;
  const Provenance& p = request.provenance;
  const int cap = program_of(kernels[number]).max_registers;
  std::string text = line(fmt::format("kernel {}: candidate {} of run {}, relative L2 error at most {:.3g}{}", number,
                                      p.candidate, p.run, p.worst_relative_l2,
                                      same_cap || cap == 0 ? "" : fmt::format(", at most {} registers", cap)));
  text += line(fmt::format("  {}", to_text(p.genome)));
  if (!p.rivals.empty()) text += line("  " + p.rivals);
  for (const Measured& m : measured) {
    if (m.kernel != number) continue;
    for (const Timing& timing : p.timings) {
      if (timing.cold || timing.shape != m.shape->name) continue;
      text += line(fmt::format("  {:<32} {:.2f} us [{:.2f}, {:.2f}]", sizes_text(request.task, *m.shape),
                               timing.median_us, timing.low_us, timing.high_us));
    }
  }
  return text;
}

// --- for evo

/// What load_task and load_families need. The kernels are in the file as they were compiled, so their
/// templates are stubs.
SourceTree exported_files(const ExportRequest& request) {
  const Family& family = request.family;
  const std::string folder = family.task + "/" + family.name + "/";
  const std::set<std::string> of_reference = files_included_by(request.files, request.task.reference);
  SourceTree files;
  for (const auto& [path, text] : request.files) {
    const bool described = path == request.task.name + "/task.json" || path == request.task.name + "/limits.json" ||
                           path == folder + "family.json";
    if (described || of_reference.contains(path)) files.emplace(path, text);
  }
  const std::string stub = "// The kernel is in the exported file.\n";
  files.emplace(family.kernel_path, stub);
  for (const Gene& gene : family.genes) {
    if (!names_files(gene)) continue;
    for (const Value& allele : gene.alleles) files.emplace(folder + allele_file(gene, allele), stub);
  }
  return files;
}

/// The files that tensors are drawn from, in hexadecimal digits: JSON holds text alone.
ordered_json drawn_files(const Task& task) {
  ordered_json files = ordered_json::object();
  for (const auto& [path, content] : task.files) {
    std::string digits;
    for (const char c : content) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
    files[task.name + "/" + path] = digits;
  }
  return files;
}

/// The files of one or several kernels of a task.
void add_files(ordered_json& json, const Task& task, const SourceTree& files) {
  json["files"] = files;
  if (!task.files.empty()) json["drawn_files"] = drawn_files(task);
}

/// A slash next to a star is written as its JSON escape: a string can then neither end the comment nor seem to
/// open another.
std::string within_comment(const std::string& json) {
  std::string safe;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool next_to_star = (i > 0 && json[i - 1] == '*') || (i + 1 < json.size() && json[i + 1] == '*');
    safe += json[i] == '/' && next_to_star ? "\\u002f" : std::string(1, json[i]);
  }
  return safe;
}

/// All that read_exports reads of one kernel, without the files and the samples, which are many.
ordered_json kernel_json(const ExportRequest& request, const TargetGuard& guard) {
  ExportedKernel kernel{request.provenance, {}};
  for (const Program& program : request.programs)
    kernel.programs.push_back({program.specialisation, program.max_registers, program.source_hash,
                               hash_hex(guarded_source(exported_source(program.source), guard.macro))});
  auto json = to_json<ordered_json>(kernel);
  json["salt"] = fmt::format("{:x}", request.provenance.salt);
  for (ordered_json& timing : json["timings"]) timing.erase("samples_us");
  return json;
}

std::string block_of(const std::string& launcher, const ordered_json& members) {
  ordered_json json = {{"format", kExportFormat}, {"launcher", launcher}};
  json.update(members);
  const std::string text = json.dump(1, ' ', false, ordered_json::error_handler_t::replace);
  return std::string(kProvenanceBegin) + within_comment(text) + std::string(kProvenanceEnd) + "\n";
}

}  // namespace

std::string nvcc_command(std::span<const ExportRequest> requests) {
  const std::string& arch = requests.front().provenance.device.arch;
  // One target: -arch=sm_90a compiles for compute_90, too (nvcc 13.0).
  const std::vector<std::string> options = common_options(requests);
  const auto is_standard = [](const std::string& option) { return option.starts_with("-std="); };
  const auto standard = std::ranges::max_element(options, {}, is_standard);
  std::string command = fmt::format("nvcc {} -gencode=arch=compute_{},code={}",
                                    standard == options.end() || !is_standard(*standard) ? "-std=c++17" : *standard,
                                    arch.substr(arch.find('_') + 1), arch);
  for (const std::string& option : options)
    if (!is_standard(option)) command += " " + option;
  if (const int cap = common_cap(requests); cap > 0) command += fmt::format(" -maxrregcount={}", cap);
  return command;
}

std::string readable_provenance(const ExportRequest& request, const FileNames& names) {
  const Provenance& p = request.provenance;
  std::string text = title_line(p, request.task);
  text += origin_line(p, fmt::format("run {}, candidate {}", p.run, p.candidate)) + "//\n";
  text += line(fmt::format("  objective  {}: {:.2f} us, {}", p.objective, p.latency_us, measured_word(p)));
  for (const Timing& timing : p.timings) text += timing_line(timing);
  if (!p.rivals.empty()) text += line(fmt::format("  rivals     {}", p.rivals));
  text += line(fmt::format("  error      relative L2 at most {:.3g} over every validated case", p.worst_relative_l2));
  text += caution_lines(request);
  if (request.task.self_consistent) text += line("  reference  none: self-consistent only");
  text += gpu_lines(p);
  text += line(fmt::format("  genome     {}", to_text(p.genome)));
  text += line(fmt::format("  task hash  {}", p.task_hash)) + "//\n";
  return text + use_lines({&request, 1}, names.launcher);
}

std::string readable_dispatch(const std::vector<ExportRequest>& requests,
                              const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured) {
  const ExportRequest& first = *specialisations.front().request;
  const Provenance& p = first.provenance;
  std::vector<int> caps;
  for (const Specialised& specialised : specialisations) caps.push_back(program_of(specialised).max_registers);
  const bool same_cap = std::all_of(caps.begin(), caps.end(), [&](int cap) { return cap == caps.front(); });

  std::string text = title_line(p, first.task);
  text += origin_line(p, fmt::format("{} kernels", specialisations.size())) + "//\n";
  const std::string constants =
      first.task.specialised.empty() ? "" : fmt::format(" of its {}", fmt::join(first.task.specialised, " and "));
  text +=
      line(fmt::format("The launcher chooses a kernel by the size of the call: of the shapes below{}, the", constants));
  text += line(fmt::format("nearest one's kernel, by the Euclidean distance in {};",
                           size_groups_text(size_groups(first.task, p.target.options))));
  text += line(fmt::format("of equally near ones the smaller one's. Warm latencies, {}:", measured_word(p)));
  text += "//\n";
  for (std::size_t i = 0; i < specialisations.size(); ++i) text += kernel_lines(specialisations, i, same_cap, measured);
  text += "//\n";
  for (const auto& [name, value] : p.target.options)
    text += line(fmt::format("  option     {} = {}", name, expr::to_string(value)));
  text += caution_lines(first);
  if (first.task.self_consistent) text += line("  reference  none: self-consistent only");
  text += line(fmt::format("  task hash  {}", p.task_hash));
  if (!same_cap)
    text += line("  registers  nvcc caps all kernels of a file alike (-maxrregcount): figures may differ a little");
  return text + "//\n" + use_lines(requests, specialisations.front().names.launcher);
}

std::string provenance_block(const ExportRequest& request, const std::string& launcher) {
  ordered_json json = kernel_json(request, target_guard({&request, 1}));
  add_files(json, request.task, exported_files(request));
  return block_of(launcher, json);
}

std::string dispatch_provenance_block(const std::vector<ExportRequest>& requests, const std::string& launcher) {
  const TargetGuard guard = target_guard(requests);
  ordered_json kernels = ordered_json::array();
  SourceTree files;
  for (const ExportRequest& request : requests) {
    kernels.push_back(kernel_json(request, guard));
    files.merge(exported_files(request));
  }
  ordered_json json = {{"kernels", kernels}};
  add_files(json, requests.front().task, files);
  return block_of(launcher, json);
}

}  // namespace evo
