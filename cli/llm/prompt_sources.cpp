#include "cli/llm/prompt_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "cli/text/format.h"
#include "cli/text/json_members.h"
#include "cli/text/json_text.h"
#include "cli/text/terminal.h"
#include "engine/base/hash.h"
#include "engine/base/source_tree.h"
#include "engine/base/text.h"
#include "engine/source/template.h"

namespace evo::cli {
namespace {

constexpr std::size_t kFrame = 200;        // bytes around a file
constexpr double kShareOfRendered = 0.6;   // of the room, where templates do not all fit beside the rendered source
constexpr std::size_t kLongestLine = 160;  // of a hot line that is quoted
const std::string kLeftOut = "// ... left out: ";

std::vector<const Json*> elites_in(const Json& question) {
  std::vector<const Json*> elites;
  for (const Json& elite : member_list(question, "elites"))
    if (elite.is_object()) elites.push_back(&elite);
  return elites;
}

/// The files of the task, and those that came with elites.
SourceTree tree_of(const Json& task, const Json& question) {
  SourceTree tree;
  const auto add = [&](const Json& holder) {
    const auto files = holder.find("files");
    if (files == holder.end() || !files->is_object()) return;
    for (const auto& [path, text] : files->items())
      if (text.is_string()) tree.emplace(path, text.get<std::string>());
  };
  add(task);
  for (const Json* elite : elites_in(question)) add(*elite);
  return tree;
}

// --- the rendered source

/// A source by the files that its lines come from.
struct RenderedSource {
  std::vector<std::string> lines;
  std::vector<std::string> file_of;     ///< By line; empty: unknown.
  std::map<std::string, double> share;  ///< Of the time, by file; empty: unknown.
  std::string entry;                    ///< The file that holds the entry kernel.

  std::size_t bytes_of(const std::string& file) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (file_of[i] == file) bytes += lines[i].size() + 1;
    return bytes;
  }
  /// The entry kernel's file, then the others by their share, and by their first line where that is unknown.
  std::vector<std::string> files_in_order() const {
    std::vector<std::string> order;
    for (const std::string& file : file_of)
      if (std::ranges::find(order, file) == order.end()) order.push_back(file);
    const auto rank = [&](const std::string& file) {
      const auto known = share.find(file);
      return file == entry ? -2.0 : known == share.end() ? 0.0 : -known->second;
    };
    std::ranges::stable_sort(order, {}, rank);
    return order;
  }
};

RenderedSource rendered_in(const Json& task, const Json& elite) {
  RenderedSource source;
  source.lines = split(member_text(elite, "source"), '\n');
  source.file_of.resize(source.lines.size());
  for (const Json& run : member_list(elite, "source_map")) {
    const std::size_t from = member_count(run, "from"),
                      end = std::min(from + member_count(run, "lines"), source.lines.size() + 1);
    for (std::size_t line = std::max<std::size_t>(from, 1); line < end; ++line)
      source.file_of[line - 1] = member_text(run, "file");
  }
  for (const Json& file : member_list(elite, "file_shares"))
    source.share[member_text(file, "file")] = member_number(file, "share");
  source.entry = fmt::format("{}/{}/kernel.cu", member_text(task, "task"),
                             member_text(elite.value("genome", Json::object()), "family"));
  return source;
}

/// Of the files that fit; others are named in their place.
std::string selected_source(const RenderedSource& source, std::size_t room) {
  std::set<std::string> shown;
  std::size_t used = 0;
  for (const std::string& file : source.files_in_order()) {
    const std::size_t bytes = source.bytes_of(file) + kFrame;
    if (used + bytes > room && file != source.entry) continue;
    used += bytes;
    shown.insert(file);
  }
  std::string text;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string& file = source.file_of[i];
    if (shown.contains(file)) {
      text += source.lines[i] + "\n";
    } else if (i == 0 || source.file_of[i - 1] != file) {
      const auto share = source.share.find(file);
      text += fmt::format("{}{}{}\n", kLeftOut, file.empty() ? "lines" : file,
                          share == source.share.end() ? "" : fmt::format(", {} of the time", percent(share->second)));
    }
  }
  return clipped(text, room);
}

std::string hot_lines(const RenderedSource& source, const Json& elite) {
  std::string text;
  for (const Json& hot : member_list(elite, "line_shares")) {
    const std::size_t line = member_count(hot, "line");
    if (line == 0 || line > source.lines.size()) continue;
    text += fmt::format("{} line {} ({}): {}\n", percent(member_number(hot, "share")), line, source.file_of[line - 1],
                        clipped(trim(source.lines[line - 1]), kLongestLine));
  }
  for (const Json& file : member_list(elite, "file_shares"))
    text += fmt::format("{} {}\n", percent(member_number(file, "share")), member_text(file, "file"));
  return text;
}

std::string rendered_section(const Json& task, const Json& question, std::size_t room) {
  const std::vector<const Json*> elites = elites_in(question);
  if (elites.empty() || member_text(*elites[0], "source").empty()) return "";
  const RenderedSource source = rendered_in(task, *elites[0]);
  std::string text;
  if (const std::string hot = hot_lines(source, *elites[0]); !hot.empty())
    text += "\n## Where the best spends its time, by the cost model\n" + as_data("time", hot);
  const std::size_t frame = text.size() + kFrame;
  if (frame + kFrame > room) return "";
  const std::string whole = member_text(*elites[0], "source");
  const std::string shown = whole.size() + frame <= room ? whole : selected_source(source, room - frame);
  const std::size_t programs = member_count(*elites[0], "programs");
  return text +
         fmt::format("\n## What the templates of the best become{}\n",
                     programs > 1 ? fmt::format(" for the first of {} kinds of shapes", programs) : "") +
         as_data("rendered", shown);
}

// --- the templates

/// The template files of an elite: its kernel, then those that take the most time, its alleles, all that these include.
void add_files_of(const Json& task, const Json& elite, const SourceTree& tree, std::vector<std::string>& order) {
  const Json genome = elite.value("genome", Json::object());
  if (!genome.is_object()) return;
  const std::string family = fmt::format("{}/{}/", member_text(task, "task"), member_text(genome, "family"));
  std::vector<std::string> roots = {family + "kernel.cu"};
  order.push_back(roots.front());
  for (const Json& file : member_list(elite, "file_shares")) order.push_back(member_text(file, "file"));
  const Json genes = genome.value("genes", Json::object());
  for (const auto& [gene, allele] : genes.items())
    if (allele.is_string()) roots.push_back(fmt::format("{}{}/{}.cu", family, gene, allele.get<std::string>()));
  order.insert(order.end(), roots.begin(), roots.end());
  for (const std::string& root : roots)
    for (const std::string& included : files_included_by(tree, root)) order.push_back(included);
  for (auto file = tree.lower_bound(family); file != tree.end() && file->first.starts_with(family); ++file)
    order.push_back(file->first);
}

std::vector<std::string> template_order(const Json& task, const Json& question, const SourceTree& tree) {
  const std::string folder = member_text(task, "task") + "/";
  std::vector<std::string> order;
  for (const Json* elite : elites_in(question)) add_files_of(task, *elite, tree, order);
  if (order.empty())
    for (const Json& family : member_list(task, "families"))
      add_files_of(task, {{"genome", {{"family", member_text(family, "name")}}}}, tree, order);
  order.push_back(folder + "reference.cu");
  for (const auto& [path, text] : tree)
    if (path.starts_with(folder) && !path.starts_with(folder + "mutants/")) order.push_back(path);
  return order;
}

/// As many files as fit.
std::string files_section(const std::vector<std::string>& order, const SourceTree& tree, std::size_t room) {
  std::string text;
  std::set<std::string> shown;
  std::size_t left_out = 0;
  for (const std::string& path : order) {
    const auto file = tree.find(path);
    if (file == tree.end() || !shown.insert(path).second) continue;
    const std::size_t used = text.size() + path.size() + kFrame;
    if (used + file->second.size() <= room) {
      text += as_data(path, file->second);
    } else if (used + kFrame * 10 <= room) {
      const std::string begin = clipped(file->second, room - used);
      text += as_data(fmt::format("{} (its first {} of {} bytes)", path, begin.size(), file->second.size()), begin);
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) text += fmt::format("{} more files are left out.\n", left_out);
  return text.empty() ? "" : "\n## Files of the templates\n" + text;
}

}  // namespace

std::string as_data(std::string_view name, std::string_view text) {
  const std::string mark = hash_hex(text).substr(0, 12);
  return fmt::format("<<<{} {}\n{}{}{}>>>\n", one_line(name), mark, text, text.ends_with('\n') ? "" : "\n", mark);
}

std::string sources_section(const Json& task, const Json& question, std::size_t room) {
  const SourceTree tree = tree_of(task, question);
  const std::vector<std::string> contract = {member_text(task, "task") + "/task.json"};
  std::vector<std::string> order = template_order(task, question, tree);
  std::erase(order, contract.front());
  std::string text = files_section(contract, tree, room);
  room -= std::min(room, text.size());
  std::size_t of_templates = 0;
  const std::set<std::string> each(order.begin(), order.end());
  for (const std::string& path : each)
    if (const auto file = tree.find(path); file != tree.end())
      of_templates += file->second.size() + path.size() + kFrame;
  const auto least = static_cast<std::size_t>(static_cast<double>(room) * kShareOfRendered);
  const std::string rendered =
      rendered_section(task, question, std::max(least, room - std::min(room, of_templates + kFrame)));
  room -= std::min(room, rendered.size());
  return text + rendered + files_section(order, tree, room);
}

}  // namespace evo::cli
