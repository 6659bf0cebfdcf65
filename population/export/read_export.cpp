#include "population/export/read_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/json_depth.h"
#include "engine/base/text.h"
#include "engine/expression/json_value.h"
#include "engine/record/record_json.h"
#include "population/code/kernel_source.h"
#include "population/export/provenance.h"

namespace evo {
namespace {

using nlohmann::json;

/// Fields that were added since an older file was written get their defaults. What is unknown was 0 there.
template <class Record>
void complete(json& older) {
  auto whole = to_json<json>(Record{});
  for (const auto& [name, value] : older.items())
    if (!whole.contains(name) || !whole[name].is_null() || value != 0) whole[name] = value;
  older = std::move(whole);
}

std::uint64_t read_hex(const std::string& text) {
  const bool plain = text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  const std::optional<std::uint64_t> number = plain ? number_in<std::uint64_t>(text, 16) : std::nullopt;
  if (!number) throw RecordError("field salt is not up to 16 hexadecimal digits");
  return *number;
}

/// Source number `index` as it stands between its markers.
std::string read_source(std::string_view text, std::size_t index) {
  const std::string begin = begin_marker(index);
  const std::size_t start = text.find(begin);
  const std::size_t end = text.find(end_marker(index), start == std::string_view::npos ? 0 : start);
  if (start == std::string_view::npos || end == std::string_view::npos)
    throw RecordError(fmt::format("the lines that mark kernel {} are missing", index));
  return std::string(text.substr(start + begin.size(), end - start - begin.size()));
}

Program read_program(std::string_view text, std::size_t index, const ExportedProgram& exported, bool& edited) {
  Program program;
  program.specialisation = exported.specialisation;
  program.source = read_source(text, index);
  if (exported.max_registers < 0 || exported.max_registers > 255)
    throw RecordError("field max_registers is not 0 to 255");
  program.max_registers = exported.max_registers;
  const std::string hash = hash_hex(program.source);
  const bool same = hash == exported.text_hash;
  // An edited kernel is another kernel: it must not be taken for the one that was exported.
  program.source_hash = same ? exported.source_hash : "edited " + hash;
  edited = edited || !same;
  return program;
}

/// Bytes that are written as hexadecimal digits.
std::string read_bytes(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const std::string pair = digits.substr(i, 2);
    const bool plain = pair.size() == 2 && pair.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!plain) throw RecordError("field drawn_files has no pairs of hexadecimal digits");
    bytes += static_cast<char>(*number_in<unsigned>(pair, 16));
  }
  return bytes;
}

SourceTree read_files(const json& root) {
  auto tree = read_field<SourceTree>(root, "files");
  const auto drawn = read_field<std::optional<SourceTree>>(root, "drawn_files").value_or(SourceTree{});
  for (const auto& [path, digits] : drawn) tree.emplace(path, read_bytes(digits));
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

void require_known_format(const json& root, std::string_view name) {
  const auto format = read_field<std::int64_t>(root, "format");
  if (format > kExportFormat) {
    throw usage_error(fmt::format("{} was exported by a newer evo (format {}, this evo knows {}): update evo", name,
                                  format, kExportFormat));
  }
  if (format < 1) throw RecordError("field format is no positive number");
}

/// Throws unless the tree gives the task and the family that the provenance names.
void require_task(const Exported& exported) {
  const Task task = load_task(exported.tree, exported.provenance.task);
  limits_of(task, exported.provenance.target);
  const std::vector<Family> families = load_families(exported.tree, task);
  const std::string& family = exported.provenance.genome.family;
  const bool there = std::any_of(families.begin(), families.end(), [&](const Family& f) { return f.name == family; });
  if (!there) throw RecordError(fmt::format("files has no family '{}'", family));
}

/// One kernel, whose sources are numbered from `source` on in the file.
Exported read_kernel(json members, std::string_view text, std::size_t& source) {
  complete<Target>(members["target"]);
  for (json& timing : members["timings"]) complete<Timing>(timing);
  members["salt"] = read_hex(read_field<std::string>(members, "salt"));
  auto kernel = from_json<ExportedKernel>(members, "kernels");
  Exported exported;
  exported.provenance = std::move(kernel.provenance);
  if (kernel.programs.empty()) throw RecordError("field programs is empty");
  for (const ExportedProgram& program : kernel.programs)
    exported.programs.push_back(read_program(text, source++, program, exported.edited));
  return exported;
}

/// Files of formats 1 and 2 do not name it.
std::string read_launcher(const json& root, const std::string& task) {
  const auto launcher = read_field<std::optional<std::string>>(root, "launcher").value_or(default_launcher(task));
  if (!is_function_name(launcher)) throw RecordError("field launcher is no name of a function");
  return launcher;
}

std::vector<Exported> read_kernels(const json& root, std::string_view text, std::string_view name) {
  require_known_format(root, name);
  std::vector<Exported> kernels;
  std::size_t sources = 0;
  for (const json& members : root.contains("kernels") ? root["kernels"] : json::array({root}))
    kernels.push_back(read_kernel(members, text, sources));
  if (kernels.empty()) throw RecordError("field kernels is empty");
  for (Exported& exported : kernels) {
    exported.tree = read_files(root);
    exported.launcher = read_launcher(root, exported.provenance.task);
    try {
      require_task(exported);
    } catch (const Error& error) {
      throw RecordError(error.what());
    }
  }
  return kernels;
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
  const std::string provenance = provenance_json(text, name);
  try {
    require_shallow_json(provenance, name);
    return read_kernels(json::parse(provenance), text, name);
  } catch (const json::exception&) {
    throw usage_error(fmt::format("{}: its provenance is damaged: it is no JSON of an exported file", name));
  } catch (const RecordError& error) {
    throw usage_error(fmt::format("{}: its provenance is damaged: {}", name, error.what()));
  }
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

}  // namespace evo
