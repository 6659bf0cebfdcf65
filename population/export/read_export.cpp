#include "population/export/read_export.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/expression/json_place.h"
#include "population/code/kernel_source.h"
#include "population/export/provenance.h"

namespace evo {
namespace {

DeviceRecord read_device(const JsonPlace& place) {
  place.allow_only({"id", "kind", "name", "arch", "uuid", "driver", "facts"});
  return {place.at("id").text(),   place.at("kind").text(),   place.at("name").text(),   place.at("arch").text(),
          place.at("uuid").text(), place.at("driver").text(), place.at("facts").values()};
}

std::vector<Shape> read_shapes(const JsonPlace& place) {
  std::vector<Shape> shapes;
  for (const JsonPlace& shape : place.items()) {
    shape.allow_only({"name", "parameters"});
    shapes.push_back({shape.at("name").text(), shape.at("parameters").values()});
  }
  return shapes;
}

Target read_target(const JsonPlace& place) {
  place.allow_only({"objective", "options", "timed", "validated"});
  Target target{place.at("options").values(), read_shapes(place.at("timed")), read_shapes(place.at("validated"))};
  if (const auto objective = place.find("objective")) target.objective = objective->text();
  return target;
}

Genome read_genome(const JsonPlace& place) {
  place.allow_only({"family", "genes"});
  return {place.at("family").text(), place.at("genes").values()};
}

/// One field of a timing. Older files lack those that were added since.
template <class Value>
void read_claim(const JsonPlace& item, const char* name, Value& value) {
  if constexpr (std::is_same_v<Value, double>) value = item.number_if_any(name);
  const auto there = item.find(name);
  if (!there) return;
  if constexpr (std::is_same_v<Value, std::string>) {
    value = there->text();
  } else if constexpr (std::is_same_v<Value, bool>) {
    value = there->boolean();
  } else if constexpr (std::is_same_v<Value, int>) {
    const std::int64_t count = there->integer();
    if (count < 0 || count > INT32_MAX) there->fail("expected a count");
    value = static_cast<int>(count);
  }
}

std::vector<Timing> read_claims(const JsonPlace& place) {
  std::vector<Timing> timings;
  for (const JsonPlace& item : place.items()) {
    Timing& timing = timings.emplace_back();
    std::vector<std::string_view> known;
    for_each_field(timing, [&](const char* name, auto& value) {
      known.push_back(name);
      read_claim(item, name, value);
    });
    item.allow_only(known);
    for (const char* needed : {"shape", "modelled", "cold"}) item.at(needed);
  }
  return timings;
}

std::uint64_t read_hex(const JsonPlace& place) {
  const std::string text = place.text();
  const bool plain = text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  const std::optional<std::uint64_t> number = plain ? number_in<std::uint64_t>(text, 16) : std::nullopt;
  if (!number) place.fail("expected up to 16 hexadecimal digits");
  return *number;
}

Provenance read_provenance(const JsonPlace& root) {
  Provenance provenance;
  provenance.task = root.at("task").text();
  provenance.task_hash = root.at("task_hash").text();
  provenance.genome = read_genome(root.at("genome"));
  provenance.target = read_target(root.at("target"));
  provenance.device = read_device(root.at("device"));
  provenance.objective = root.at("objective").text();
  provenance.latency_us = root.number_if_any("latency_us");
  provenance.worst_relative_l2 = root.number_if_any("worst_relative_l2");
  provenance.timings = read_claims(root.at("timings"));
  provenance.salt = read_hex(root.at("salt"));
  provenance.run = root.at("run").integer();
  provenance.candidate = root.at("candidate").integer();
  provenance.evo_version = root.at("evo_version").text();
  provenance.nvrtc_version = root.at("nvrtc_version").text();
  for (const JsonPlace& flag : root.at("compile_flags").items()) provenance.compile_flags.push_back(flag.text());
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
  program.specialisation = place.at("specialisation").values();
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

/// Bytes that are written as hexadecimal digits.
std::string read_bytes(const JsonPlace& place) {
  const std::string digits = place.text();
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const std::string pair = digits.substr(i, 2);
    const bool plain = pair.size() == 2 && pair.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!plain) place.fail("expected pairs of hexadecimal digits");
    bytes += static_cast<char>(*number_in<unsigned>(pair, 16));
  }
  return bytes;
}

SourceTree read_files(const JsonPlace& root) {
  SourceTree tree;
  for (const auto& [path, text] : root.at("files").members()) tree.emplace(path, text.text());
  const auto drawn = root.find("drawn_files");
  if (!drawn) return tree;
  for (const auto& [path, digits] : drawn->members()) tree.emplace(path, read_bytes(digits));
  return tree;
}

std::string provenance_json(std::string_view text, std::string_view name) {
  const std::size_t begin = text.find(kProvenanceBegin);
  if (begin == std::string_view::npos) {
    throw usage_error(fmt::format("{} has no evo provenance: only files written by `evo export` can be read", name));
  }
  // The kernels of one file and the plan of another must not be combined.
  if (text.rfind(kProvenanceBegin) != begin)
    throw usage_error(fmt::format("{} holds several exported files: name each by itself", name));
  const std::size_t start = begin + kProvenanceBegin.size();
  const std::size_t end = text.find(kProvenanceEnd, start);
  if (end == std::string_view::npos) {
    throw usage_error(fmt::format("{}: its evo provenance is cut off: export it again", name));
  }
  return std::string(text.substr(start, end - start));
}

void require_known_format(const JsonPlace& root, std::string_view name) {
  const std::int64_t format = root.at("format").integer();
  if (format > kExportFormat) {
    throw usage_error(fmt::format("{} was exported by a newer evo (format {}, this evo knows {}): update evo", name,
                                  format, kExportFormat));
  }
  if (format < 1) root.at("format").fail("expected a positive number");
}

/// Throws unless the tree gives the task and the family that the provenance names.
void require_task(const Exported& exported, const JsonPlace& root) {
  const Task task = load_task(exported.tree, exported.provenance.task);
  limits_of(task, exported.provenance.target);
  const std::vector<Family> families = load_families(exported.tree, task);
  const std::string& family = exported.provenance.genome.family;
  const bool there = std::any_of(families.begin(), families.end(), [&](const Family& f) { return f.name == family; });
  if (!there) root.fail(fmt::format("files has no family '{}'", family));
}

/// One kernel, whose sources are numbered from `first_source` on in the file.
Exported read_kernel(const JsonPlace& place, std::string_view text, std::size_t first_source) {
  // The last four belong to the root, which is the kernel itself in a file of one kernel.
  place.allow_only({"task",        "task_hash",         "genome",        "target",   "device", "objective",
                    "latency_us",  "worst_relative_l2", "timings",       "salt",     "run",    "candidate",
                    "evo_version", "nvrtc_version",     "compile_flags", "programs", "format", "launcher",
                    "files",       "drawn_files"});
  Exported exported;
  exported.provenance = read_provenance(place);
  const std::vector<JsonPlace> programs = place.at("programs").items();
  if (programs.empty()) place.at("programs").fail("at least one is needed");
  for (std::size_t i = 0; i < programs.size(); ++i) {
    exported.programs.push_back(read_program(text, first_source + i, programs[i], exported.edited));
  }
  return exported;
}

std::vector<Exported> read_kernels(const JsonPlace& root, std::string_view text) {
  root.allow_only({"format", "launcher", "kernels", "files", "drawn_files"});
  std::vector<Exported> kernels;
  std::size_t sources = 0;
  for (const JsonPlace& place : root.at("kernels").items()) {
    kernels.push_back(read_kernel(place, text, sources));
    sources += kernels.back().programs.size();
  }
  if (kernels.empty()) root.at("kernels").fail("at least one is needed");
  return kernels;
}

/// Files of formats 1 and 2 do not name it.
std::string read_launcher(const JsonPlace& root, const std::string& task) {
  const auto place = root.find("launcher");
  const std::string launcher = place ? place->text() : default_launcher(task);
  if (!is_function_name(launcher)) place.value_or(root).fail("expected the name of a function");
  return launcher;
}

constexpr std::string_view kCrLfProvenanceBegin = "\r\n/* evo-provenance\r\n";

/// Without the carriage returns that an editor or a version control system put before each line break.
std::string with_plain_line_ends(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) != "\r\n") plain += text[i];
  }
  return plain;
}

std::vector<Exported> read_plain(std::string_view text, std::string_view name) {
  const std::string file(name);
  const JsonPlace root = JsonPlace::read({{file, provenance_json(text, name)}}, file);
  std::vector<Exported> kernels;
  require_known_format(root, name);
  if (root.find("kernels")) {
    kernels = read_kernels(root, text);
  } else {
    kernels.push_back(read_kernel(root, text, 0));
  }
  for (Exported& exported : kernels) {
    exported.tree = read_files(root);
    exported.launcher = read_launcher(root, exported.provenance.task);
    try {
      require_task(exported, root);
    } catch (const Error& error) {
      throw usage_error(fmt::format("{}: its provenance is damaged: {}", name, error.what()));
    }
  }
  return kernels;
}

}  // namespace

bool holds_export(std::string_view text) {
  return text.find(kProvenanceBegin) != std::string_view::npos ||
         text.find(kCrLfProvenanceBegin) != std::string_view::npos;
}

std::vector<Exported> read_exports(std::string_view text, std::string_view name) {
  const bool plain = text.find(kCrLfProvenanceBegin) == std::string_view::npos;
  return plain ? read_plain(text, name) : read_plain(with_plain_line_ends(text), name);
}

Exported read_export(std::string_view text, std::string_view name) {
  std::vector<Exported> kernels = read_exports(text, name);
  if (kernels.size() == 1) return std::move(kernels.front());
  throw usage_error(
      fmt::format("{} holds {} kernels, and one is wanted: export that one by its ID", name, kernels.size()));
}

}  // namespace evo
