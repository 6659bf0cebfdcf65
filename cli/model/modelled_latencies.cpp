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
  const std::optional<std::size_t> traits = csv.column("traits");
  for (const Csv::Row& row : csv.rows) {
    const auto us = number_in<double>(row.cells[latency]);
    if (!us) throw usage_error(fmt::format("{}: line {}: no modelled latency", file, row.line));
    if (*us <= 0) continue;
    PredictedLatency one{*us};
    for (const std::string& trait :
         traits && !row.cells[*traits].empty() ? split(row.cells[*traits], ' ') : std::vector<std::string>()) {
      const auto number = number_in<float>(trait);
      if (!number) throw usage_error(fmt::format("{}: line {}: trait '{}': expected a number", file, row.line, trait));
      one.traits.push_back(*number);
    }
    modelled[row.cells[space]].add(row.cells[genome], std::move(one));
  }
}

}  // namespace

void ModelledLatencies::add(const std::string& genome, PredictedLatency modelled) {
  Words alleles = split(genome, ' ');
  alleles.erase(alleles.begin());  // the family
  Words genes;
  for (const std::string& allele : alleles) genes.push_back(allele.substr(0, allele.find('=')));
  by_genes_[genes][alleles] = std::move(modelled);
}

const PredictedLatency* ModelledLatencies::of(const Genome& genome) const {
  for (const auto& [genes, latencies] : by_genes_) {
    Words alleles;
    for (const std::string& gene : genes) {
      const auto allele = genome.genes.find(gene);
      if (allele == genome.genes.end()) break;
      alleles.push_back(fmt::format("{}={}", gene, expr::to_string(allele->second)));
    }
    if (const auto found = latencies.find(alleles); found != latencies.end()) return &found->second;
  }
  return nullptr;
}

std::map<std::string, ModelledLatencies> read_modelled_latencies(const std::vector<std::string>& files) {
  std::map<std::string, ModelledLatencies> modelled;
  for (const std::string& file : files) add_file(file, modelled);
  return modelled;
}

}  // namespace evo::cli
