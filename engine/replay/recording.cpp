#include "engine/replay/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "engine/base/error.h"

namespace evo {
namespace {

// Numbers by value; else booleans before strings, each in their own order.
Gene gene_of(const std::string& name, bool fractional, const std::vector<RecordedEntry>& entries) {
  std::set<Value> alleles;
  for (const RecordedEntry& entry : entries) {
    if (const auto found = entry.genes.find(name); found != entry.genes.end()) alleles.insert(found->second);
  }
  Gene gene;
  gene.name = name;
  gene.alleles.assign(alleles.begin(), alleles.end());
  gene.kind = fractional ? Gene::Kind::number : kind_of(gene.alleles);
  if (fractional) {
    std::stable_sort(gene.alleles.begin(), gene.alleles.end(),
                     [](const Value& a, const Value& b) { return expr::decimal_of(a) < expr::decimal_of(b); });
  }
  return gene;
}

// Whether a gene is active must follow from the genes before it. Genes that every entry has come first; what
// still does not follow gets an allele that stands for its absence.
const char* const kAbsent = "(absent)";

bool follows(const std::vector<RecordedEntry>& entries, const std::vector<std::string>& genes, std::size_t at) {
  std::map<std::vector<Value>, bool> active;
  for (const RecordedEntry& entry : entries) {
    std::vector<Value> earlier;
    for (std::size_t i = 0; i < at; ++i) {
      const auto found = entry.genes.find(genes[i]);
      earlier.push_back(found == entry.genes.end() ? Value(std::string(kAbsent)) : found->second);
    }
    const bool present = entry.genes.contains(genes[at]);
    if (active.emplace(std::move(earlier), present).first->second != present) return false;
  }
  return true;
}

bool in_every(const std::vector<RecordedEntry>& entries, const std::string& gene) {
  return std::all_of(entries.begin(), entries.end(),
                     [&](const RecordedEntry& entry) { return entry.genes.contains(gene); });
}

}  // namespace

Recording make_recording(const std::string& name, const std::vector<std::string>& genes,
                         const std::vector<std::string>& fractional, const std::vector<RecordedEntry>& given) {
  if (given.empty()) throw usage_error(fmt::format("{}: no configurations", name));
  std::vector<RecordedEntry> entries = given;
  std::vector<std::string> order = genes;
  const auto rare = std::stable_partition(order.begin(), order.end(),
                                          [&](const std::string& gene) { return in_every(entries, gene); });
  for (auto i = static_cast<std::size_t>(rare - order.begin()); i < order.size(); ++i) {
    if (follows(entries, order, i)) continue;
    for (RecordedEntry& entry : entries) entry.genes.emplace(order[i], std::string(kAbsent));
  }
  Recording recording;
  recording.name = name;
  recording.family.name = name;
  for (const std::string& gene : order) {
    const bool is_fractional = std::find(fractional.begin(), fractional.end(), gene) != fractional.end();
    recording.family.genes.push_back(gene_of(gene, is_fractional, entries));
  }
  std::unordered_set<Point, PointHash> seen;
  for (const RecordedEntry& entry : entries) {
    RecordedRow row{{}, entry.latency_us, entry.verdict, entry.cost_s};
    for (const Gene& gene : recording.family.genes) {
      const auto found = entry.genes.find(gene.name);
      const auto place = found == entry.genes.end()
                             ? gene.alleles.end()
                             : std::find(gene.alleles.begin(), gene.alleles.end(), found->second);
      row.alleles.push_back(place == gene.alleles.end() ? kInactive : static_cast<int>(place - gene.alleles.begin()));
    }
    if (seen.insert({0, row.alleles}).second) recording.rows.push_back(std::move(row));
  }
  return recording;
}

std::vector<Genome> best_genomes(const Recording& recording, std::size_t count) {
  std::vector<const RecordedRow*> valid;
  for (const RecordedRow& row : recording.rows) {
    if (row.latency_us) valid.push_back(&row);
  }
  std::stable_sort(valid.begin(), valid.end(),
                   [](const auto* a, const auto* b) { return *a->latency_us < *b->latency_us; });
  valid.resize(std::min(count, valid.size()));
  std::vector<Genome> genomes;
  for (const RecordedRow* row : valid) genomes.push_back(genome_of(recording.family, row->alleles));
  return genomes;
}

}  // namespace evo
