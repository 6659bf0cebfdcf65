#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/commands/json_documents.h"
#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/subject/sources.h"
#include "cli/text/exit_code.h"
#include "cli/text/table.h"
#include "cli/text/text_diff.h"

namespace evo::cli {
namespace {

struct Request {
  std::string a;
  std::string b;
  std::string database = kDefaultDatabase;
  bool json = false;
};

std::string allele_text(const std::optional<Value>& allele) {
  return allele ? expr::to_string(*allele) : "-";
}

std::string label(const CandidateRow& row) {
  return fmt::format("candidate {}", row.id);
}

std::string genes_text(const CandidateRow& a, const CandidateRow& b, const std::vector<GeneDifference>& genes,
                       const Terminal& terminal) {
  Table table({{"gene"}, {label(a)}, {label(b)}});
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

int diff(const Request& request) {
  const CandidateId a_id = parse_id("candidate", request.a);
  const CandidateId b_id = parse_id("candidate", request.b);
  const Store store = Store::open(request.database, Store::Mode::read);
  const CandidateRow a = find_candidate(store, a_id);
  const CandidateRow b = find_candidate(store, b_id);
  const std::vector<GeneDifference> genes = differences(a.genome, b.genome);
  const std::string sources = unified_diff(all_sources(a), all_sources(b), label(a), label(b));
  if (request.json) {
    fmt::print("{}", diff_json(a, b, genes, sources));
    return kDone;
  }
  const Terminal terminal = terminal_of(stdout);
  fmt::print("{}\n{}", genes_text(a, b, genes, terminal),
             sources.empty() ? "the sources are equal\n" : coloured(sources, terminal));
  return kDone;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("diff", "Show the genes and source lines in which two candidates differ");
  command->add_option("A", request->a, "A candidate")->required()->type_name("");
  command->add_option("B", request->b, "Another")->required()->type_name("");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action] { action = [request] { return diff(*request); }; });
}

}  // namespace evo::cli
