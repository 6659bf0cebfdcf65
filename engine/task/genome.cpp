#include "engine/task/genome.h"

#include <fmt/format.h>

#include "engine/expression/json_place.h"
#include "engine/expression/json_value.h"

namespace evo {

Genome genome_of(const Family& family, const Path& path) {
  Genome genome{family.name, {}};
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == kInactive) continue;
    const Gene& gene = family.genes[i];
    genome.genes[gene.name] = gene.alleles[static_cast<std::size_t>(path[i])];
  }
  return genome;
}

std::string to_text(const Genome& genome) {
  std::string text = genome.family + ":";
  for (const auto& [name, value] : genome.genes) text += fmt::format(" {}={}", name, expr::to_string(value));
  return text;
}

std::string to_json(const Genome& genome) {
  return to_json<nlohmann::ordered_json>(genome).dump();
}

Genome genome_from_json(std::string_view json) {
  const JsonPlace root = JsonPlace::read({{"genome", std::string(json)}}, "genome");
  root.allow_only({"family", "genes"});
  Genome genome{root.at("family").text(), root.at("genes").values()};
  for (const auto& [gene, value] : genome.genes) {
    if (std::holds_alternative<double>(value))
      root.at("genes").at(gene).fail("expected an integer, true, false or a string");
  }
  return genome;
}

}  // namespace evo
