#include "cli/subject/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace evo::cli {
namespace {

/// The files that define which answers are right: the task, its measured limits, its reference and the reference's
/// includes.
SourceTree definition_of(const SourceTree& tree, const Task& task) {
  SourceTree definition;
  for (const auto& [path, text] : tree) {
    const bool defines =
        path == task.name + "/task.json" || path == task.name + "/limits.json" || path == task.reference;
    if (defines || path.starts_with("include/")) definition.emplace(path, text);
  }
  return definition;
}

/// Whether the definition in an exported file is the installed one. An exported file has includes only when its
/// reference is a template.
bool same_definition(const SourceTree& brought, const SourceTree& installed, const Task& task) {
  const bool same = std::ranges::all_of(brought, [&](const auto& file) {
    const auto here = installed.find(file.first);
    return here != installed.end() && here->second == file.second;
  });
  const std::string limits = task.name + "/limits.json";
  return same && brought.contains(limits) == installed.contains(limits);
}

/// Whether two tasks of one name have the same sizes and options. Else they are different tasks.
bool called_alike(const Task& one, const Task& other) {
  const Bindings options = one.default_options(), others = other.default_options();
  return one.shape_parameters == other.shape_parameters &&
         std::ranges::equal(options | std::views::keys, others | std::views::keys);
}

/// Throws usage_error when a shape of the file has the name of an installed one, but other sizes.
void require_same_shapes(const Target& target, const Task& task) {
  for (const std::vector<Shape>* listed : {&target.timed, &target.validated}) {
    for (const Shape& shape : *listed) {
      const auto here = std::ranges::find(task.shapes, shape.name, &Shape::name);
      if (here != task.shapes.end() && here->parameters != shape.parameters)
        throw usage_error(fmt::format("its shape {} has other sizes here", shape.name));
    }
  }
}

}  // namespace

void use_installed_task(Claim& claim, const SourceTree& templates, std::string_view device_kind) {
  const std::string name = claim.task.name;
  if (!templates.contains(name + "/task.json")) {
    claim.contract = Contract::brought;
    return;
  }
  try {
    const Task installed = load_task(templates, name);
    if (!called_alike(claim.task, installed)) {
      claim.contract = Contract::brought;
      return;
    }
    const SourceTree definition = definition_of(templates, installed);
    claim.contract = same_definition(definition_of(claim.tree, claim.task), definition, installed)
                         ? Contract::same
                         : Contract::installed;
    claim.tree.erase(name + "/limits.json");
    for (const auto& [path, text] : definition) claim.tree.insert_or_assign(path, text);
    claim.task = load_task(claim.tree, name);
    claim.family = find_family(claim.tree, claim.task, claim.genome.family);
    limits_of(claim.task, claim.target);
    require_same_shapes(claim.target, claim.task);
    add_default_validation(claim.task, device_kind, claim.target);
  } catch (const Error& error) {
    throw usage_error(fmt::format("{} cannot be checked against the task {} of these templates: {}", claim.origin, name,
                                  error.what()));
  }
}

}  // namespace evo::cli
