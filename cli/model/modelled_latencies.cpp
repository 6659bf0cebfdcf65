#include "cli/model/modelled_latencies.h"

#include <fmt/format.h>

#include "cli/subject/recordings.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

void add_file(const std::string& file, std::map<std::string, ModelledLatencies>& modelled) {
  const Csv csv = read_csv(read_text(file), file);
  const auto column = [&](const char* name) {
    const std::optional<std::size_t> found = csv.column(name);
    if (!found) {
      throw usage_error(
          fmt::format("{}: line 1: no column '{}': evo model --against SPACE --csv FILE writes one", file, name));
    }
    return *found;
  };
  const std::size_t space = column("sweep");
  const std::size_t genome = column("genome");
  const std::size_t latency = column("modelled_us");
  for (const Csv::Row& row : csv.rows) {
    const auto us = number_in<double>(row.cells[latency]);
    if (!us) throw usage_error(fmt::format("{}: line {}: no modelled latency", file, row.line));
    if (*us > 0) modelled[row.cells[space]].add(row.cells[genome], *us);
  }
}

}  // namespace

void ModelledLatencies::add(const std::string& genome, double us) {
  Words alleles = split(genome, ' ');
  alleles.erase(alleles.begin());  // the family
  Words genes;
  for (const std::string& allele : alleles) genes.push_back(allele.substr(0, allele.find('=')));
  by_genes_[genes][alleles] = us;
}

std::optional<double> ModelledLatencies::of(const Genome& genome) const {
  for (const auto& [genes, latencies] : by_genes_) {
    Words alleles;
    for (const std::string& gene : genes) {
      const auto allele = genome.genes.find(gene);
      if (allele == genome.genes.end()) break;
      alleles.push_back(fmt::format("{}={}", gene, expr::to_string(allele->second)));
    }
    if (const auto found = latencies.find(alleles); found != latencies.end()) return found->second;
  }
  return std::nullopt;
}

std::map<std::string, ModelledLatencies> read_modelled_latencies(const std::vector<std::string>& files) {
  std::map<std::string, ModelledLatencies> modelled;
  for (const std::string& file : files) add_file(file, modelled);
  return modelled;
}

}  // namespace evo::cli
