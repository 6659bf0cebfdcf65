#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/sources/sources.h"
#include "cli/subject/json.h"
#include "cli/text/text_diff.h"

namespace evo::cli {
namespace {

struct DiffRequest {
  std::string a;
  std::string b;
  std::string database = kDefaultDatabase;
  bool json = false;
};

std::string label(const CandidateRow& row) {
  return fmt::format("candidate {}", row.id);
}

std::string genes_text(const CandidateRow& a, const CandidateRow& b, const std::vector<GeneDifference>& genes,
                       const Terminal& terminal) {
  Table table({"gene", label(a), label(b)});
  if (a.genome.family != b.genome.family) table.add({"(family)", a.genome.family, b.genome.family});
  for (const GeneDifference& gene : genes) table.add({gene.gene, allele_text(gene.a), allele_text(gene.b)});
  return table.empty() ? "the genomes are equal\n" : table.text(terminal);
}

std::string coloured(const std::string& diff, const Terminal& terminal) {
  std::string out, line;
  for (std::istringstream lines(diff); std::getline(lines, line);) {
    Style style = Style::plain;
    if (line.starts_with("---") || line.starts_with("+++"))
      style = Style::bold;
    else if (line.starts_with('-'))
      style = Style::bad;
    else if (line.starts_with('+'))
      style = Style::good;
    else if (line.starts_with('@'))
      style = Style::dim;
    out += styled(terminal, style, line) + '\n';
  }
  return out;
}

std::string diff_document(const CandidateRow& a, const CandidateRow& b, const std::vector<GeneDifference>& genes,
                          const std::string& source_diff) {
  Json json = json_document("diff");
  json["a"] = {{"candidate", a.id}, {"genome", genome_json(a.genome)}};
  json["b"] = {{"candidate", b.id}, {"genome", genome_json(b.genome)}};
  json["genes"] = Json::array();
  for (const GeneDifference& difference : genes) {
    json["genes"].push_back({{"gene", difference.gene},
                             {"a", difference.a ? value_json(*difference.a) : Json(nullptr)},
                             {"b", difference.b ? value_json(*difference.b) : Json(nullptr)}});
  }
  json["source_diff"] = source_diff;
  return json_text(json);
}

int diff(const DiffRequest& request) {
  const CandidateId a_id = parse_id("candidate", request.a);
  const CandidateId b_id = parse_id("candidate", request.b);
  const Store store = Store::open(request.database, Store::Mode::read);
  const CandidateRow a = find_candidate(store, a_id);
  const CandidateRow b = find_candidate(store, b_id);
  const std::vector<GeneDifference> genes = differences(a.genome, b.genome);
  const std::string sources = unified_diff(all_sources(a), all_sources(b), label(a), label(b));
  if (request.json) {
    print("{}", diff_document(a, b, genes, sources));
    return kDone;
  }
  const Terminal terminal = terminal_of(stdout);
  print("{}\n{}", genes_text(a, b, genes, terminal),
        sources.empty() ? "the sources are equal\n" : coloured(sources, terminal));
  return kDone;
}

}  // namespace

void add_diff(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "diff", "Show the genes and source lines in which two candidates differ", diff);
  add_option(command, "A", "", request.a, "The number of a candidate")->required();
  add_option(command, "B", "", request.b, "The number of another")->required();
  add_usual_options(command, request);
}

}  // namespace evo::cli
