#include "cli/modelled.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/recordings.h"
#include "engine/error.h"
#include "engine/text.h"

namespace evo::cli {
namespace {

/// The cells of a line: quotes enclose commas.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

void read_file(const std::string& file, std::map<std::string, ModelledGenomes>& modelled) {
  const std::vector<std::string> lines = split(read_text(file), '\n');
  const std::vector<std::string> header = cells_of(lines.empty() ? "" : lines.front());
  const auto column = [&](const char* name) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      throw usage_error(fmt::format(
          "{}: line 1: no column '{}': evo model --against SPACE --csv FILE writes one", file, name));
    }
    return static_cast<std::size_t>(found - header.begin());
  };
  const std::size_t space = column("sweep");
  const std::size_t genome = column("genome");
  const std::size_t latency = column("modelled_us");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> cells = cells_of(lines[i]);
    double us = 0;
    const std::string& text = latency < cells.size() ? cells[latency] : std::string();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
    if (std::max(space, genome) >= cells.size() || error != std::errc() || end != text.data() + text.size())
      throw usage_error(fmt::format("{}: line {}: no genome with a modelled latency", file, i + 1));
    if (us > 0) modelled[cells[space]].add(cells[genome], us);
  }
}

}  // namespace

void ModelledGenomes::add(const std::string& genome, double us) {
  Words alleles = split(genome, ' ');
  alleles.erase(alleles.begin());  // the family
  Words genes;
  for (const std::string& allele : alleles) genes.push_back(allele.substr(0, allele.find('=')));
  by_genes_[genes][alleles] = us;
}

std::optional<double> ModelledGenomes::of(const Genome& genome) const {
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

std::map<std::string, ModelledGenomes> read_modelled(const std::vector<std::string>& files) {
  std::map<std::string, ModelledGenomes> modelled;
  for (const std::string& file : files) read_file(file, modelled);
  return modelled;
}

}  // namespace evo::cli
