#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/commands/json_documents.h"
#include "cli/subject/arguments.h"
#include "cli/subject/listings.h"
#include "cli/subject/lookup.h"
#include "cli/subject/recordings.h"
#include "cli/subject/templates.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "engine/space/t1.h"

namespace evo::cli {
namespace {

struct Request {
  std::string task;
  std::string device = "auto";
  std::string family;
  std::vector<std::string> shapes;
  std::vector<std::string> options;
  std::string templates;
  std::string t1;
  bool json = false;
};

std::string alleles_of(const Gene& gene) {
  std::vector<std::string> alleles;
  for (const Value& allele : gene.alleles) alleles.push_back(expr::to_string(allele));
  return fmt::format("{}", fmt::join(alleles, " "));
}

std::string gene_table(const Family& family, const Terminal& terminal) {
  Table table({{"gene"}, {"alleles"}, {"active when"}, {"what it is"}});
  for (const Gene& gene : family.genes) {
    const bool always = gene.when.text() == "true";
    table.add({gene.name, alleles_of(gene), always ? "" : gene.when.text(), gene.doc});
  }
  return table.text(terminal, 2);
}

std::string family_text(const FamilyListing& listing, const Terminal& terminal) {
  const std::string name = styled(terminal, Style::bold, listing.family.name);
  if (!listing.left_out.empty()) {
    return fmt::format("{}  left out: {}\n", name, styled(terminal, Style::warning, one_line(listing.left_out)));
  }
  return fmt::format("{}  {}\n  {} legal genomes of {} in the product of all alleles\n{}", name,
                     one_line(listing.family.summary), grouped(listing.legal), grouped(listing.product),
                     gene_table(listing.family, terminal));
}

std::string space_text(const SpaceListing& space, const Terminal& terminal) {
  std::vector<std::string> specialisations;
  for (const Bindings& specialisation : specialisations_of(space.task, space.target)) {
    for (const auto& [name, value] : specialisation) {
      specialisations.push_back(fmt::format("{}={}", name, expr::to_string(value)));
    }
  }
  std::string text = fmt::format("{} on {} ({}): {} legal genomes", space.task.name, space.device.id, space.device.name,
                                 grouped(space.legal()));
  if (!specialisations.empty()) text += fmt::format(", each compiled for {}", fmt::join(specialisations, " and "));
  text += "\n";
  for (const FamilyListing& listing : space.families) text += "\n" + family_text(listing, terminal);
  return text;
}

/// A tuning problem of another tuner: a family without a device.
int t1_space(const Request& request) {
  const std::string name = std::filesystem::path(request.t1).filename().string();
  FamilyListing listing;
  listing.family = read_t1(read_text(request.t1), name);
  const Space space({listing.family}, {}, {});
  listing.legal = space.size();
  listing.product = space.product_size(name);
  SpaceListing all;
  all.task.name = name;
  all.families.push_back(listing);
  fmt::print("{}", request.json ? space_json(all) : family_text(listing, terminal_of(stdout)));
  return kDone;
}

int space(const Request& request) {
  if (!request.t1.empty()) return t1_space(request);
  const SourceTree tree = load_templates(request.templates);
  const Task task = find_task(tree, request.task);
  const std::vector<std::string> shapes = parse_shapes(task, request.shapes);
  const Bindings options = parse_options(task, request.options);
  const DeviceInfo device = find_device(request.device);
  const Target target = make_target(task, device.kind, shapes, options);
  const SpaceListing listing = list_space(tree, task, device, target, request.family);
  fmt::print("{}", request.json ? space_json(listing) : space_text(listing, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_space(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("space", "Show what there is to search: families, genes, legal genomes");
  command->add_option("--task", request->task, "The task (evo tasks lists them)")->type_name("TASK");
  command->add_option("--device", request->device, "Device whose limits apply")
      ->capture_default_str()
      ->type_name("DEVICE");
  command->add_option("--family", request->family, "This family only")->type_name("NAME");
  command->add_option("--shapes", request->shapes, "Shapes that a run would time")
      ->allow_extra_args(false)
      ->type_name("A,B");
  command->add_option("--option", request->options, "An option of the task, as out=bf16")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->add_option("--templates", request->templates, kTemplatesHelp)->type_name("DIR");
  command->add_option("--t1", request->t1, "Instead of a task: a tuning problem in the T1 format")->type_name("FILE");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action] { action = [request] { return space(*request); }; });
}

}  // namespace evo::cli
