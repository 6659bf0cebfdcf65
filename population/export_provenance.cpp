// One subject: what an exported file says about itself, for people at its top and for evo at its end, and
// reading it back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/hash.h"
#include "engine/json_place.h"
#include "engine/text.h"
#include "population/codec.h"
#include "population/export_parts.h"

namespace evo {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kFormat = 1;

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

/// JSON allows "\/" for a slash: without it a string could end the comment or seem to open another.
std::string within_comment(const std::string& json) {
  std::string safe;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool star_beside = (i > 0 && json[i - 1] == '*') || (i + 1 < json.size() && json[i + 1] == '*');
    if (json[i] == '/' && star_beside) safe += '\\';
    safe += json[i];
  }
  return safe;
}

// --- reading

/// A measured number; NaN when it was none.
double read_number(const JsonPlace& place, std::string_view key) {
  const auto found = place.find(key);
  return found ? found->number() : std::numeric_limits<double>::quiet_NaN();
}

Bindings read_bindings(const JsonPlace& place) {
  Bindings bindings;
  for (const auto& [name, value] : place.members()) bindings[name] = value.value();
  return bindings;
}

DeviceRecord read_device(const JsonPlace& place) {
  place.allow_only({"id", "kind", "name", "arch", "uuid", "driver", "facts"});
  return {place.at("id").text(),           place.at("kind").text(), place.at("name").text(),
          place.at("arch").text(),         place.at("uuid").text(), place.at("driver").text(),
          read_bindings(place.at("facts"))};
}

std::vector<Shape> read_shapes(const JsonPlace& place) {
  std::vector<Shape> shapes;
  for (const JsonPlace& shape : place.items()) {
    shape.allow_only({"name", "parameters"});
    shapes.push_back({shape.at("name").text(), read_bindings(shape.at("parameters"))});
  }
  return shapes;
}

Target read_target(const JsonPlace& place) {
  place.allow_only({"options", "timed", "validated"});
  return {read_bindings(place.at("options")), read_shapes(place.at("timed")),
          read_shapes(place.at("validated"))};
}

Genome read_genome(const JsonPlace& place) {
  place.allow_only({"family", "genes"});
  return {place.at("family").text(), read_bindings(place.at("genes"))};
}

std::vector<Timing> read_claims(const JsonPlace& place) {
  std::vector<Timing> timings;
  for (const JsonPlace& item : place.items()) {
    item.allow_only({"shape", "modelled", "cold", "median_us", "low_us", "high_us"});
    Timing& timing = timings.emplace_back();
    timing.shape = item.at("shape").text();
    timing.modelled = item.at("modelled").boolean();
    timing.cold = item.at("cold").boolean();
    timing.median_us = read_number(item, "median_us");
    timing.low_us = read_number(item, "low_us");
    timing.high_us = read_number(item, "high_us");
  }
  return timings;
}

std::uint64_t read_hex(const JsonPlace& place) {
  const std::string text = place.text();
  const bool hex =
      !text.empty() && text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex) place.fail("expected up to 16 hexadecimal digits");
  return std::stoull(text, nullptr, 16);
}

Provenance read_provenance(const JsonPlace& root) {
  Provenance provenance;
  provenance.task = root.at("task").text();
  provenance.task_hash = root.at("task_hash").text();
  provenance.genome = read_genome(root.at("genome"));
  provenance.target = read_target(root.at("target"));
  provenance.device = read_device(root.at("device"));
  provenance.objective = root.at("objective").text();
  provenance.latency_us = read_number(root, "latency_us");
  provenance.worst_relative_l2 = read_number(root, "worst_relative_l2");
  provenance.timings = read_claims(root.at("timings"));
  provenance.salt = read_hex(root.at("salt"));
  provenance.run = root.at("run").integer();
  provenance.candidate = root.at("candidate").integer();
  provenance.evo_version = root.at("evo_version").text();
  provenance.nvrtc_version = root.at("nvrtc_version").text();
  provenance.compile_flags = root.at("compile_flags").texts();
  return provenance;
}

/// Source number `index` as it stands between its markers.
std::string read_source(std::string_view text, std::size_t index, const JsonPlace& place) {
  const std::string begin = begin_marker(index);
  const std::size_t start = text.find(begin);
  const std::size_t end = text.find(end_marker(index), start == std::string_view::npos ? 0 : start);
  if (start == std::string_view::npos || end == std::string_view::npos) {
    place.fail(fmt::format("the lines that mark kernel {} are missing", index));
  }
  return std::string(text.substr(start + begin.size(), end - start - begin.size()));
}

Program read_program(std::string_view text, std::size_t index, const JsonPlace& place, bool& edited) {
  place.allow_only({"specialisation", "max_registers", "source_hash", "text_hash"});
  Program program;
  program.specialisation = read_bindings(place.at("specialisation"));
  program.source = read_source(text, index, place);
  const std::int64_t cap = place.at("max_registers").integer();
  if (cap < 0 || cap > 255) place.at("max_registers").fail("expected 0 to 255");
  program.max_registers = static_cast<int>(cap);
  const std::string hash = hash_hex(program.source);
  const bool same = hash == place.at("text_hash").text();
  // An edited kernel is another kernel: it must not be taken for the one that was exported.
  program.source_hash = same ? place.at("source_hash").text() : "edited " + hash;
  edited = edited || !same;
  return program;
}

SourceTree read_files(const JsonPlace& place) {
  SourceTree tree;
  for (const auto& [path, text] : place.members()) tree.emplace(path, text.text());
  return tree;
}

std::string provenance_json(std::string_view text, std::string_view name) {
  const std::size_t begin = text.rfind(kProvenanceBegin);
  if (begin == std::string_view::npos) {
    throw usage_error(
        fmt::format("{} has no evo provenance: only files written by `evo export` can be read", name));
  }
  const std::size_t start = begin + kProvenanceBegin.size();
  const std::size_t end = text.find(kProvenanceEnd, start);
  if (end == std::string_view::npos) {
    throw usage_error(fmt::format("{}: its evo provenance is cut off: export it again", name));
  }
  return std::string(text.substr(start, end - start));
}

void require_format(const JsonPlace& root, std::string_view name) {
  const std::int64_t format = root.at("format").integer();
  if (format > kFormat) {
    throw usage_error(fmt::format("{} was exported by a newer evo (format {}, this evo knows {}): update evo",
                                  name, format, kFormat));
  }
  if (format < 1) root.at("format").fail("expected a positive number");
}

/// The tree must give the task and the family that the provenance speaks of.
void require_task(const Exported& exported, const JsonPlace& root) {
  const Task task = load_task(exported.tree, exported.provenance.task);
  const std::vector<Family> families = load_families(exported.tree, task);
  const std::string& family = exported.provenance.genome.family;
  const bool there =
      std::any_of(families.begin(), families.end(), [&](const Family& f) { return f.name == family; });
  if (!there) root.fail(fmt::format("files has no family '{}'", family));
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
  const ordered_json json = {{"format", kFormat},
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

Exported read_export(std::string_view text, std::string_view name) {
  const std::string file(name);
  const JsonPlace root = JsonPlace::read({{file, provenance_json(text, name)}}, file);
  require_format(root, name);
  root.allow_only({"format", "task", "task_hash", "genome", "target", "device", "objective", "latency_us",
                   "worst_relative_l2", "timings", "salt", "run", "candidate", "evo_version", "nvrtc_version",
                   "compile_flags", "programs", "files"});
  Exported exported;
  exported.provenance = read_provenance(root);
  const std::vector<JsonPlace> programs = root.at("programs").items();
  if (programs.empty()) root.at("programs").fail("at least one is needed");
  for (std::size_t i = 0; i < programs.size(); ++i) {
    exported.programs.push_back(read_program(text, i, programs[i], exported.edited));
  }
  exported.tree = read_files(root.at("files"));
  try {
    require_task(exported, root);
  } catch (const Error& error) {
    throw usage_error(fmt::format("{}: its provenance is damaged: {}", name, error.what()));
  }
  return exported;
}

}  // namespace evo
