#include "cli/check/gene_use.h"

#include <cctype>
#include <set>
#include <string_view>

#include "engine/base/comments.h"
#include "engine/base/text.h"
#include "engine/source/compile_options.h"
#include "engine/source/template.h"

namespace evo::cli {
namespace {

using Names = std::set<std::string, std::less<>>;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

void add_words(std::string_view text, Names& names) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end > i) names.emplace(text.substr(i, end - i));
    i = end + (end == i ? 1 : 0);
  }
}

/// "#define tile ${tile}"
bool only_defines(std::string_view line) {
  constexpr std::string_view kDefine = "#define ";
  if (!line.starts_with(kDefine)) return false;
  const std::string_view rest = trim(line.substr(kDefine.size()));
  const auto blank = rest.find(' ');
  if (blank == std::string_view::npos) return false;
  const std::string_view name = rest.substr(0, blank), value = trim(rest.substr(blank));
  return value.starts_with("${") && value.ends_with("}") && value.substr(2, value.size() - 3) == name;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// The words of a template and of what it includes, but for those in comments.
class TemplateWords {
 public:
  TemplateWords(const SourceTree& tree, Names& names) : tree_(tree), names_(names) {}

  void add(const std::string& path) {
    const auto file = tree_.find(path);
    if (file == tree_.end() || !seen_.insert(path).second) return;
    bool in_comment = false;
    for (const std::string& raw : split(file->second, '\n')) {
      const std::string_view line = trim(raw);
      if (const std::string included = included_file(tree_, path, line); !included.empty()) add(included);
      if (line.starts_with("//%") || line.starts_with(kCompileOptions)) {
        add_words(line, names_);
      } else if (!only_defines(line)) {
        add_words(without_comments(line, in_comment), names_);
      }
    }
  }

 private:
  const SourceTree& tree_;
  Names& names_;
  std::set<std::string> seen_;
};

Names names_in_expressions(const Family& family) {
  Names names;
  const auto add = [&](const Expression& expression) {
    for (const std::string& name : expression.names()) names.insert(name);
  };
  for (const Gene& gene : family.genes) add(gene.when);
  for (const Derived& derived : family.derived) add(derived.value);
  for (const Constraint& constraint : family.constraints) add(constraint.condition);
  add(family.max_registers);
  for (const WorkspaceSpec& workspace : family.workspaces)
    for (const Expression* part : {&workspace.when, &workspace.bytes, &workspace.zeroed}) add(*part);
  for (const TensorMapSpec& map : family.tensor_maps) {
    add(map.when);
    add(map.swizzle_bytes);
    for (const auto* parts : {&map.dims, &map.strides_bytes, &map.box})
      for (const Expression& part : *parts) add(part);
  }
  for (const ConstantSpec& constant : family.constants) {
    add(constant.when);
    for (const FieldSpec& field : constant.value.fields)
      for (const Expression& component : field.components) add(component);
  }
  for (const LaunchSpec& launch : family.launches) {
    for (const auto* parts : {&launch.grid, &launch.block, &launch.cluster})
      for (const Expression& part : *parts) add(part);
    for (const Expression* part : {&launch.when, &launch.dynamic_smem_bytes, &launch.programmatic}) add(*part);
    for (const ArgumentSpec& argument : launch.arguments)
      for (const FieldSpec& field : argument.fields)
        for (const Expression& component : field.components) add(component);
    add_words(launch.kernel, names);  // "reduce<${tile}>"
  }
  return names;
}

}  // namespace

std::vector<std::string> unused_genes(const SourceTree& tree, const Family& family) {
  Names names = names_in_expressions(family);
  TemplateWords words(tree, names);
  words.add(family.kernel_path);
  for (const Gene& gene : family.genes) {
    if (!names_files(gene)) continue;
    for (const Value& allele : gene.alleles) words.add(folder_of(family.kernel_path) + allele_file(gene, allele));
  }
  std::vector<std::string> unused;
  for (const Gene& gene : family.genes)
    if (gene.alleles.size() > 1 && !names.contains(gene.name)) unused.push_back(gene.name);
  return unused;
}

}  // namespace evo::cli
