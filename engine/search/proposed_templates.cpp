#include "engine/search/proposed_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/json_depth.h"
#include "engine/base/text.h"
#include "engine/search/near_duplicate.h"
#include "engine/source/template_paths.h"
#include "engine/space/space.h"
#include "engine/task/scope.h"

namespace evo {
namespace {

constexpr std::size_t kLongestText = 256 << 10;  // characters; the largest shipped kernel has 15 thousand
constexpr std::size_t kLongestName = 64;

void require_short(const std::string& what, const std::string& text) {
  if (text.size() > kLongestText)
    throw usage_error(fmt::format("{} has {} characters: at most {}", what, text.size(), kLongestText));
}

/// The allele that a file would be of a genome's family; empty when it is none.
std::string allele_of(const std::string& path, const std::string& folder, const std::string& gene) {
  const std::string prefix = fmt::format("{}{}/", folder, gene);
  if (!path.starts_with(prefix) || !path.ends_with(".cu")) return {};
  return path.substr(prefix.size(), path.size() - prefix.size() - 3);
}

/// The first place from `at` on that is neither a blank nor in a comment.
std::size_t after_blanks(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (text[at] == ' ' || text[at] == '\t' || text[at] == '\v' || text[at] == '\f') {
      ++at;
    } else if (text.substr(at, 2) == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      break;
    }
  }
  return at;
}

/// The source with lines that a backslash continues joined.
std::string spliced(const std::string& source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') continue;
    std::size_t end = i + 1;  // blanks before the line's end do not matter to compilers
    while (end < source.size() && (source[end] == ' ' || source[end] == '\t' || source[end] == '\r')) ++end;
    if (source[i] == '\\' && end < source.size() && source[end] == '\n')
      i = end;
    else
      text += source[i];
  }
  return text;
}

/// Refuses directives that include files: a compiler would show the lines of an included file in its errors. A '#' in a
/// comment counts too, because only a compiler can recognise comments exactly.
void refuse_includes(const std::string& source) {
  const std::string text = spliced(source);
  for (const std::string_view mark : {"#", "%:", "?\?="}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::string_view word = std::string_view(text).substr(after_blanks(text, at + mark.size()));
      for (const std::string_view directive : {"include", "import", "embed"}) {
        if (word.starts_with(directive))
          throw usage_error(fmt::format("its source has '#{}': kernels are complete without headers", directive));
      }
    }
  }
  if (text.find("__has_include") != std::string::npos || text.find("__has_embed") != std::string::npos)
    throw usage_error("its source asks for headers: kernels are complete without");
}

/// The family of a genome in which each gene has one allele: the genome's, or, where it is inactive, its first.
std::string bound_family(const Genome& genome, std::string_view text) {
  using Json = nlohmann::ordered_json;
  require_shallow_json(text, "family.json");
  Json family = Json::parse(text);
  for (Json& gene : family["genes"]) {
    if (!gene.contains("values")) continue;
    const auto allele = genome.genes.find(gene["name"].get<std::string>());
    Json one = gene["values"].front();
    if (allele != genome.genes.end()) std::visit([&](const auto& value) { one = value; }, allele->second);
    gene["values"] = Json::array({one});
  }
  return family.dump(1, ' ', false, Json::error_handler_t::replace);
}

/// Whether a file of the genome's family goes into a patch of it: of a slot's alleles only the genome's does, or, where
/// the gene is inactive, the first.
bool stays_in_patch(const Genome& genome, const SourceTree& tree, const std::string& folder, const std::string& path) {
  const std::string within = path.substr(folder.size());
  const std::size_t cut = within.find('/');
  if (cut == std::string::npos || !path.ends_with(".cu")) return true;
  const std::string gene = within.substr(0, cut);
  const auto allele = genome.genes.find(gene);
  if (allele != genome.genes.end()) return within == fmt::format("{}/{}.cu", gene, expr::to_string(allele->second));
  auto first = tree.lower_bound(folder + gene + "/");
  while (!first->first.ends_with(".cu")) ++first;
  return first->first == path;
}

/// All that the files of a family include from elsewhere.
std::set<std::string> included_from_elsewhere(const SourceTree& tree, const SourceTree& family,
                                              const std::string& folder) {
  std::set<std::string> elsewhere;
  for (const auto& [path, text] : family)
    if (!path.ends_with(".json"))
      for (const std::string& included : template_paths::included_by(tree, folder, path))
        if (!included.starts_with(folder)) elsewhere.insert(included);
  return elsewhere;
}

/// Copies a file that the family includes into its folder, with those on the way to it: a family's own versions come
/// before those of the templates folder (engine/source/template_paths.h).
void bring_included(const SourceTree& tree, const std::string& folder, const std::string& path, SourceTree& files) {
  const std::set<std::string> elsewhere = included_from_elsewhere(tree, files, folder);
  if (!elsewhere.contains(path)) throw usage_error(fmt::format("there is no file {} that the kernel includes", path));
  for (const std::string& between : elsewhere)
    if (template_paths::included_by(tree, folder, between).contains(path))
      files.emplace(folder + between, tree.at(between));
  SourceTree all = tree;
  all.insert(files.begin(), files.end());
  // A file that one of these names by its place beside itself lies beside the copy, too.
  for (const std::string& one : elsewhere) {
    if (!files.contains(folder + one)) continue;
    const std::set<std::string> found = template_paths::included_by(all, folder, folder + one);
    for (const std::string& named : template_paths::included_by(tree, folder, one))
      if (!found.contains(named) && !found.contains(folder + named)) files.emplace(folder + named, tree.at(named));
  }
  all.insert(files.begin(), files.end());
  if (included_from_elsewhere(all, files, folder).contains(path))
    throw usage_error(fmt::format("{} is included by a path of its own, so it cannot be patched", path));
}

/// The files of a genome's family of which a patch is made.
SourceTree files_to_patch(const SourceTree& tree, const std::string& folder, const std::string& task,
                          const Genome& genome) {
  if (!is_identifier(genome.family) || !tree.contains(folder + "family.json"))
    throw usage_error(fmt::format("task {} has no family '{}' to patch", task, genome.family));
  SourceTree files;
  for (auto file = tree.lower_bound(folder); file != tree.end() && file->first.starts_with(folder); ++file)
    if (stays_in_patch(genome, tree, folder, file->first)) files.insert(*file);
  files.erase(folder + kEditsFile);
  files[folder + "family.json"] = bound_family(genome, files[folder + "family.json"]);
  return files;
}

/// The name in the patched family's folder of a file that is named as there or as in the tree. A file from elsewhere is
/// copied there.
std::string name_to_patch(const SourceTree& tree, const std::string& folder, const std::string& named,
                          SourceTree& files) {
  const std::string name = named.starts_with(folder) ? named.substr(folder.size()) : named;
  if (!files.contains(folder + name) && tree.contains(name)) bring_included(tree, folder, name, files);
  return name;
}

ProposedFiles as_patch(const SourceTree& files, const std::string& folder, const std::string& task,
                       const Genome& genome) {
  Hasher hasher;
  for (const auto& [path, text] : files) {
    require_short(path, text);
    hasher.add(path).add(text);
  }
  const std::string name = fmt::format("patch_{}", hasher.hex().substr(0, 12));
  ProposedFiles patched{{}, {name, genome.genes}};
  for (const auto& [path, text] : files)
    patched.files.emplace(fmt::format("{}/{}/{}", task, name, path.substr(folder.size())), text);
  return patched;
}

}  // namespace

SourceTree allele_files(const std::string& task, const std::string& family, const std::string& gene,
                        const std::string& allele, const std::string& text) {
  if (!is_identifier(allele) || allele.size() > kLongestName)
    throw usage_error(fmt::format("'{}' is no name of an allele: a letter, then letters, digits and _", allele));
  require_short(fmt::format("the text of allele {}", allele), text);
  return {{fmt::format("{}/{}/{}/{}.cu", task, family, gene, allele), text}};
}

ProposedFiles source_files(const std::string& task, const std::string& source, std::string_view plan) {
  using Json = nlohmann::ordered_json;
  require_shallow_json(plan, "its plan");
  const Json given = Json::parse(plan, nullptr, false);
  if (!given.is_object()) throw usage_error("its plan is no object");
  if (given.contains("genes")) throw usage_error("its plan has genes: a source is one kernel");
  Json family = {{"genes", Json::array()}};
  family.update(given);
  const std::string text = family.dump(1, ' ', false, Json::error_handler_t::replace);
  require_short("the source", source);
  require_short("the plan", text);
  const std::string name = fmt::format("source_{}", Hasher().add(source).add(text).hex().substr(0, 12));
  const std::string folder = fmt::format("{}/{}/", task, name);
  return {{{folder + "family.json", text}, {folder + "kernel.cu", source}}, {name, {}}};
}

ProposedFiles patched_files(const SourceTree& tree, const std::string& task, const Genome& genome,
                            std::vector<TextEdit> edits) {
  const std::string folder = fmt::format("{}/{}/", task, genome.family);
  SourceTree files = files_to_patch(tree, folder, task, genome);
  if (edits.empty()) throw usage_error("its patch has no edits");
  for (TextEdit& edit : edits) {
    if (edit.file == "family.json") throw usage_error("a patch cannot change family.json: send the source with a plan");
    require_short("a patch", edit.replace);
    edit.file = folder + name_to_patch(tree, folder, edit.file, files);
  }
  return as_patch(edited(files, edits), folder, task, genome);
}

ProposedFiles replaced_files(const SourceTree& tree, const std::string& task, const Genome& genome,
                             const SourceTree& texts) {
  const std::string folder = fmt::format("{}/{}/", task, genome.family);
  SourceTree files = files_to_patch(tree, folder, task, genome);
  for (const auto& [path, text] : texts) {
    const std::string place = folder + name_to_patch(tree, folder, path, files);
    if (!files.contains(place)) throw usage_error(fmt::format("there is no file {} that the kernel has", path));
    files[place] = text;
  }
  return as_patch(files, folder, task, genome);
}

ProposedTemplates::ProposedTemplates(SourceTree tree, Task task, Target target, Bindings facts)
    : tree_(std::move(tree)), task_(std::move(task)), target_(std::move(target)), facts_(std::move(facts)) {}

void ProposedTemplates::admit(const Genome& genome, const SourceTree& files) {
  for (const auto& [path, text] : files) {
    const auto known = admitted_.find(path);
    if (tree_.contains(path) || (known != admitted_.end() && known->second != text))
      throw usage_error(fmt::format("{} is there already, with another text", path));
  }
  refuse_near_duplicates(files);
  SourceTree all = admitted_;
  all.insert(files.begin(), files.end());
  std::swap(all, admitted_);
  try {
    const SourceTree needed = files_of(genome);
    for (const auto& [path, text] : files) {
      if (!needed.contains(path)) throw usage_error(fmt::format("its genome does not have what it brings: {}", path));
    }
    for (const Program& program : build(genome, needed).programs) refuse_includes(program.source);
  } catch (...) {
    std::swap(all, admitted_);
    throw;
  }
}

SourceTree ProposedTemplates::all_files() const {
  SourceTree all = tree_;
  all.insert(admitted_.begin(), admitted_.end());
  return all;
}

void ProposedTemplates::refuse_near_duplicates(const SourceTree& files) const {
  // An allele is compared with those of its slot, a kernel with proposed ones of the same plan and further files.
  const auto family_folder = [](const std::string& path) {
    return path.substr(0, path.find('/', path.find('/') + 1) + 1);
  };
  if (files.size() == 1) {
    const SourceTree all = all_files();
    const auto& [path, text] = *files.begin();
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    for (auto other = all.lower_bound(folder); other != all.end() && other->first.starts_with(folder); ++other) {
      if (other->first != path && nearly_same(text, other->second))
        throw usage_error(fmt::format("{} is {} but for comments, blanks and names", path, other->first));
    }
    return;
  }
  if (files.empty()) return;
  const std::string folder = family_folder(files.begin()->first);
  for (const auto& [path, text] : admitted_) {
    if (!path.ends_with("/family.json") || family_folder(path) == folder) continue;
    const bool same = std::ranges::all_of(files, [&](const auto& file) {
      if (file.first == folder + kEditsFile) return true;
      const auto other =
          admitted_.find(family_folder(path) + file.first.substr(std::min(folder.size(), file.first.size())));
      if (other == admitted_.end()) return false;
      return file.first.ends_with(".json") ? file.second == other->second : nearly_same(file.second, other->second);
    });
    if (same)
      throw usage_error(
          fmt::format("its kernel is that of {} but for comments, blanks and names", split(path, '/').at(1)));
  }
}

SourceTree ProposedTemplates::files_of(const Genome& genome) const {
  SourceTree files;
  const std::string folder = fmt::format("{}/{}/", task_.name, genome.family);
  const bool known = tree_.contains(folder + "family.json");
  for (auto file = admitted_.lower_bound(folder); file != admitted_.end() && file->first.starts_with(folder); ++file) {
    const bool named = std::any_of(genome.genes.begin(), genome.genes.end(), [&](const auto& gene) {
      const auto* allele = std::get_if<std::string>(&gene.second);
      return allele && *allele == allele_of(file->first, folder, gene.first);
    });
    if (named || !known) files.insert(*file);
  }
  return files;
}

Candidate ProposedTemplates::build(const Genome& genome) const {
  return build(genome, files_of(genome));
}

Candidate ProposedTemplates::build(const Genome& genome, const SourceTree& files) const {
  SourceTree tree = tree_;
  tree.insert(files.begin(), files.end());
  std::vector<Family> families = load_families(tree, task_);
  const auto family =
      std::find_if(families.begin(), families.end(), [&](const Family& each) { return each.name == genome.family; });
  if (family == families.end()) throw usage_error(fmt::format("task {} has no family '{}'", task_.name, genome.family));
  const bool of_task = tree_.contains(fmt::format("{}/{}/family.json", task_.name, family->name));
  for (const Gene& gene : family->genes) {
    if (!of_task) break;  // All its alleles came with it.
    const std::string folder = fmt::format("{}/{}/{}/", task_.name, family->name, gene.name);
    const auto brought = files.lower_bound(folder);
    if (brought == files.end() || !brought->first.starts_with(folder)) continue;
    // The space has every genome of a gene that is no slot: with a file the genome would be asked a second time.
    if (!names_files(gene)) throw usage_error(fmt::format("gene {} is no slot: it takes no new allele", gene.name));
    // Where a gene is inactive it reads as its first allele, which must stay what it was.
    if (files.contains(fmt::format("{}{}.cu", folder, expr::to_string(gene.alleles.front()))))
      throw usage_error(fmt::format("a new allele of {} must not be the first by name", gene.name));
  }
  if (!may_serve(*family, facts_)) throw usage_error(fmt::format("it requires {}", family->legal.text()));
  keep_constraints_of(target_, *family);
  const Bindings known = joined(facts_, target_.options);
  if (auto why = why_illegal(*family, genome, known, specialisations_of(task_, target_))) throw usage_error(*why);
  Candidate candidate = make_candidate(tree, task_, *family, genome, target_, facts_);
  candidate.files = files;
  return candidate;
}

}  // namespace evo
