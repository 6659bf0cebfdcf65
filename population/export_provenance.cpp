// One subject: what an exported file says about itself, for people at its top and for evo at its end.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/hash.h"
#include "population/codec.h"
#include "population/export_parts.h"

namespace evo {
namespace {

using nlohmann::ordered_json;

std::string line(std::string_view text) {
  return comment_safe(fmt::format("// {}", text)) + "\n";
}

std::string timing_line(const Timing& timing) {
  return line(fmt::format("  {:<10} {} {}: {:.2f} us [{:.2f}, {:.2f}]", "", timing.cold ? "cold" : "warm",
                          timing.shape, timing.median_us, timing.low_us, timing.high_us));
}

/// The register cap as an option of nvcc, when all programs have the same.
std::string register_option(const std::vector<Program>& programs) {
  const int cap = programs.front().max_registers;
  const bool same =
      std::all_of(programs.begin(), programs.end(), [&](const Program& p) { return p.max_registers == cap; });
  return same && cap > 0 ? fmt::format(" -maxrregcount={}", cap) : "";
}

// --- for evo

ordered_json parsed(const std::string& json) {
  return ordered_json::parse(json);
}

ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

ordered_json device_json(const DeviceRecord& device) {
  return {{"id", device.id},
          {"kind", device.kind},
          {"name", device.name},
          {"arch", device.arch},
          {"uuid", device.uuid},
          {"driver", device.driver},
          {"facts", parsed(bindings_to_json(device.facts))}};
}

ordered_json timings_json(const std::vector<Timing>& timings) {
  ordered_json list = ordered_json::array();
  for (const Timing& timing : timings) {
    list.push_back({{"shape", timing.shape},
                    {"modelled", timing.modelled},
                    {"cold", timing.cold},
                    {"median_us", number(timing.median_us)},
                    {"low_us", number(timing.low_us)},
                    {"high_us", number(timing.high_us)}});
  }
  return list;
}

ordered_json programs_json(const std::vector<Program>& programs) {
  ordered_json list = ordered_json::array();
  for (const Program& program : programs) {
    list.push_back({{"specialisation", parsed(bindings_to_json(program.specialisation))},
                    {"max_registers", program.max_registers},
                    {"source_hash", program.source_hash},
                    {"text_hash", hash_hex(exported_source(program.source))}});
  }
  return list;
}

/// A reference that is a template may include whatever is under include/.
bool is_template(const std::string& source) {
  return source.find("//%") != std::string::npos;
}

/// What load_task and load_families need. The kernels are in the file as they were compiled, so their
/// templates are stubs.
SourceTree exported_files(const ExportRequest& request) {
  const Family& family = request.family;
  const std::string folder = family.task + "/" + family.name + "/";
  const auto reference = request.files.find(request.task.reference);
  const bool includes = reference != request.files.end() && is_template(reference->second);
  SourceTree files;
  for (const auto& [path, text] : request.files) {
    const bool described = path == request.task.name + "/task.json" || path == folder + "family.json";
    const bool included = includes && path.starts_with("include/");
    if (described || included || path == request.task.reference) files.emplace(path, text);
  }
  const std::string stub = "// The kernel is in the exported file.\n";
  files.emplace(family.kernel_path, stub);
  for (const Gene& gene : family.genes) {
    if (gene.kind != Gene::Kind::slot) continue;
    for (const Value& allele : gene.alleles)
      files.emplace(folder + gene.name + "/" + expr::to_string(allele) + ".cu", stub);
  }
  return files;
}

/// A slash beside a star is written as its JSON escape: a string can then neither end the comment nor seem to
/// open another.
std::string within_comment(const std::string& json) {
  std::string safe;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool star_beside = (i > 0 && json[i - 1] == '*') || (i + 1 < json.size() && json[i + 1] == '*');
    safe += json[i] == '/' && star_beside ? "\\u002f" : std::string(1, json[i]);
  }
  return safe;
}

}  // namespace

std::string readable_provenance(const ExportRequest& request) {
  const Provenance& p = request.provenance;
  const bool modelled = p.device.kind == "vgpu";
  const std::string registers = register_option(request.programs);
  std::string text = line(fmt::format("{}: {}", p.task, request.task.summary));
  text += line(
      fmt::format("Found by evo {} (run {}, candidate {}) on {} ({}, driver {}), compiled with NVRTC {}{}.",
                  p.evo_version, p.run, p.candidate, p.device.name, p.device.arch,
                  p.device.driver.empty() ? "none" : p.device.driver, p.nvrtc_version,
                  p.compile_flags.empty() ? "" : fmt::format(" {}", fmt::join(p.compile_flags, " "))));
  text += "//\n";
  text += line(fmt::format("  objective  {}: {:.2f} us, {}", p.objective, p.latency_us,
                           modelled ? "MODELLED, not measured" : "measured"));
  for (const Timing& timing : p.timings) text += timing_line(timing);
  text += line(
      fmt::format("  error      relative L2 at most {:.3g} over every validated case", p.worst_relative_l2));
  text += line(fmt::format("  genome     {}", to_text(p.genome)));
  text += line(fmt::format("  task hash  {}", p.task_hash));
  text += "//\n";
  text += line(fmt::format("A launcher, evo_{} below:  nvcc -std=c++17 -arch={}{} -c FILE.cu", p.task,
                           p.device.arch, registers));
  text += line(
      fmt::format("Check and time it:  nvcc -std=c++17 -arch={}{} -DEVO_MAIN FILE.cu -o best && ./best [{}]",
                  p.device.arch, registers, fmt::join(request.task.shape_parameters, ",")));
  return text + line("Do it all again from this file alone:  evo verify FILE.cu") + "\n";
}

std::string provenance_block(const ExportRequest& request) {
  const Provenance& p = request.provenance;
  const ordered_json json = {{"format", kExportFormat},
                             {"task", p.task},
                             {"task_hash", p.task_hash},
                             {"genome", parsed(to_json(p.genome))},
                             {"target", parsed(target_to_json(p.target))},
                             {"device", device_json(p.device)},
                             {"objective", p.objective},
                             {"latency_us", number(p.latency_us)},
                             {"worst_relative_l2", number(p.worst_relative_l2)},
                             {"timings", timings_json(p.timings)},
                             {"salt", fmt::format("{:x}", p.salt)},
                             {"run", p.run},
                             {"candidate", p.candidate},
                             {"evo_version", p.evo_version},
                             {"nvrtc_version", p.nvrtc_version},
                             {"compile_flags", p.compile_flags},
                             {"programs", programs_json(request.programs)},
                             {"files", exported_files(request)}};
  const std::string text = json.dump(1, ' ', false, ordered_json::error_handler_t::replace);
  return std::string(kProvenanceBegin) + within_comment(text) + std::string(kProvenanceEnd) + "\n";
}

}  // namespace evo
