#include "population/store/records.h"

#include <set>

#include "engine/task/mutant.h"

namespace evo {

std::string device_key(const DeviceRecord& device) {
  return device.kind + " " + device.name + " " + device.arch;
}

std::string objective_of(const Target& target) {
  std::string text = target.objective;
  for (const Shape& shape : target.timed) text += " " + shape.name;
  for (const auto& [name, value] : target.options) text += " " + name + "=" + expr::to_string(value);
  return text;
}

SourceTree files_of_task(const SourceTree& tree, std::string_view task) {
  SourceTree files;
  const std::string folder = std::string(task) + "/";
  for (const std::string& path : borrowed_files(tree, task)) files.emplace(path, tree.at(path));
  for (const auto& [path, content] : tree) {
    if (is_mutant_file(path, task)) continue;
    if (path.starts_with(folder) || path.starts_with("include/")) files.emplace(path, content);
  }
  return files;
}

std::vector<GeneDifference> differences(const Genome& a, const Genome& b) {
  std::set<std::string> names;
  for (const auto& [name, value] : a.genes) names.insert(name);
  for (const auto& [name, value] : b.genes) names.insert(name);
  const auto allele = [](const Genome& genome, const std::string& name) -> std::optional<Value> {
    const auto found = genome.genes.find(name);
    if (found == genome.genes.end()) return std::nullopt;
    return found->second;
  };
  std::vector<GeneDifference> result;
  for (const std::string& name : names) {
    GeneDifference difference{name, allele(a, name), allele(b, name)};
    if (difference.a != difference.b) result.push_back(std::move(difference));
  }
  return result;
}

}  // namespace evo
