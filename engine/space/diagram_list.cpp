#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "engine/base/error.h"
#include "engine/space/diagram.h"

namespace evo {

/// Builds from sorted genomes: those that share a prefix follow each other.
class Diagram::Lister {
 public:
  Lister(Diagram& diagram, const Family& family) : family_(family), reducer_(diagram.graph_, family.genes.size()) {}

  NodeId build(std::size_t level, std::span<const Path> genomes) {
    if (level == family_.genes.size()) return DiagramGraph::kEnd;
    const bool active = genomes.front()[level] != kInactive;
    std::vector<NodeId> children(active ? family_.genes[level].alleles.size() : 1, DiagramGraph::kDead);
    for (std::size_t begin = 0; begin < genomes.size();) {
      const int allele = genomes[begin][level];
      if ((allele != kInactive) != active) {
        throw usage_error(
            fmt::format("{}: gene {} is present in one genome and absent in another with equal "
                        "earlier genes",
                        family_.name, family_.genes[level].name));
      }
      std::size_t end = begin;
      while (end < genomes.size() && genomes[end][level] == allele) ++end;
      children[active ? static_cast<std::size_t>(allele) : 0] = build(level + 1, genomes.subspan(begin, end - begin));
      begin = end;
    }
    return reducer_.node(level, active, children);
  }

 private:
  const Family& family_;
  DiagramReducer reducer_;
};

Diagram::Diagram(const Family& family, std::vector<Path> genomes) : levels_(family.genes.size()) {
  std::sort(genomes.begin(), genomes.end());
  genomes.erase(std::unique(genomes.begin(), genomes.end()), genomes.end());
  Lister lister(*this, family);
  if (!genomes.empty()) root_ = lister.build(0, genomes);
}

}  // namespace evo
