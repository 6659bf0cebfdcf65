#include "engine/space/space.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/report/floor_share.h"
#include "cli/sources/templates.h"
#include "cli/subject/json.h"
#include "cli/subject/recordings.h"
#include "cli/text/suggest.h"
#include "engine/base/text.h"
#include "engine/short_form/t1.h"

namespace evo::cli {
namespace {

struct SpaceRequest {
  std::string task;
  std::string device = "auto";
  std::string family;
  std::vector<std::string> shapes;
  std::vector<std::string> options;
  std::string objective;
  std::string templates;
  std::string t1;
  bool json = false;
};

/// A family and the size of its search space on a device.
struct FamilyListing {
  Family family;
  std::string left_out;     ///< Why the device or the options exclude it; empty when it takes part.
  std::uint64_t legal = 0;  ///< Genomes.
  double product = 0;       ///< Size of the product of all alleles.
};

struct SpaceListing {
  Task task;
  DeviceInfo device;
  Target target;
  std::vector<FamilyListing> families;

  std::uint64_t legal() const;  ///< Over all families; saturates.
};
FamilyListing measure(const Family& family, const Bindings& known, const std::vector<Bindings>& specialisations) {
  FamilyListing listing;
  listing.family = family;
  if (!may_serve(family, known)) {
    listing.left_out = fmt::format("needs {}", family.legal.text());
    return listing;
  }
  try {
    const Space space({family}, known, specialisations);
    listing.legal = space.size(family.name);
    listing.product = space.product_size(family.name);
  } catch (const Error& error) {
    listing.left_out = error.what();
  }
  return listing;
}

std::uint64_t SpaceListing::legal() const {
  std::uint64_t sum = 0;
  for (const FamilyListing& listing : families) {
    if (__builtin_add_overflow(sum, listing.legal, &sum)) return UINT64_MAX;
  }
  return sum;
}

/// `family`: only that one; empty: all.
SpaceListing list_space(const SourceTree& tree, const Task& task, const DeviceInfo& device, const Target& target,
                        const std::string& family) {
  SpaceListing listing{task, device, target, {}};
  const Bindings known = known_to_space(device, target);
  const std::vector<Bindings> specialisations = specialisations_of(task, target);
  std::vector<std::string> names;
  for (Family& candidate : load_families(tree, task)) {
    keep_constraints_of(target, candidate);
    names.push_back(candidate.name);
    if (family.empty() || candidate.name == family) {
      listing.families.push_back(measure(candidate, known, specialisations));
    }
  }
  if (listing.families.empty() && !family.empty()) {
    throw unknown_name("family", family, names, fmt::format("of task {}", task.name));
  }
  return listing;
}

std::string alleles_of(const Gene& gene) {
  return joined(gene.alleles, " ", [&](const Value& allele) { return expr::to_string(allele); });
}

std::string gene_table(const Family& family, const Terminal& terminal) {
  if (family.genes.empty()) return "  no genes: there is one way to compile it\n";
  Table table({"gene", "alleles", "active when", "meaning"});
  for (const Gene& gene : family.genes) {
    const bool always = gene.when.text() == "true";
    table.add({gene.name, alleles_of(gene), always ? "" : gene.when.text(), gene.doc});
  }
  return table.text(terminal, 2);
}

std::string constraint_table(const Family& family, const Terminal& terminal) {
  if (family.constraints.empty()) return "";
  Table table({"legal only if", "because otherwise"});
  for (const Constraint& constraint : family.constraints) table.add({constraint.condition.text(), constraint.why});
  return "\n" + table.text(terminal, 2);
}

std::string family_text(const FamilyListing& listing, const Terminal& terminal) {
  const std::string name = styled(terminal, Style::bold, listing.family.name);
  if (!listing.left_out.empty()) {
    return fmt::format("{}  left out: {}\n", name, styled(terminal, Style::warning, one_line(listing.left_out)));
  }
  const std::string summary = listing.family.summary.empty() ? "" : "  " + one_line(listing.family.summary);
  return fmt::format("{}{}\n  {} legal genomes of {} in the product of all alleles\n{}{}", name, summary,
                     grouped(listing.legal), grouped(listing.product), gene_table(listing.family, terminal),
                     constraint_table(listing.family, terminal));
}

std::string space_text(const SpaceListing& space, const Terminal& terminal) {
  std::vector<std::string> specialisations;
  for (const Bindings& specialisation : specialisations_of(space.task, space.target)) {
    for (const auto& [name, value] : specialisation) {
      specialisations.push_back(fmt::format("{}={}", name, expr::to_string(value)));
    }
  }
  std::string text = fmt::format("{} on {} ({}), objective {}: {} legal genomes", space.task.name, space.device.id,
                                 space.device.name, space.target.objective, grouped(space.legal()));
  if (!specialisations.empty()) text += fmt::format(", each compiled for {}", fmt::join(specialisations, " and "));
  text += "\n";
  for (const FamilyListing& listing : space.families) text += "\n" + family_text(listing, terminal);
  return text;
}

Json gene_json(const Gene& gene) {
  Json alleles = list_json(gene.alleles, value_json);
  return {{"name", gene.name},
          {"kind", name_of(gene.kind)},
          {"alleles", alleles},
          {"when", gene.when.text()},
          {"doc", gene.doc}};
}

/// What no kernel can beat, at each timed shape; empty where the device's rates are not known.
Json floors_json(const SpaceListing& space) {
  Json floors = Json::array();
  DeviceRecord device;
  device.id = space.device.id;
  device.kind = space.device.kind;
  device.name = space.device.name;
  const auto rates = rates_of(device);
  if (!rates) return floors;
  for (const ShapeShare& share : shares_of(space.task, space.target, *rates, {}))
    floors.push_back({{"shape", share.shape}, {"floor_us", share.floor.us()}, {"bound", share.floor.bound()}});
  return floors;
}

std::string space_document(const SpaceListing& space) {
  Json json = json_document("space");
  json["task"] = space.task.name;
  json["device"] = device_json(space.device);
  json["target"] = target_json(space.target);
  json["legal"] = space.legal();
  json["floors"] = floors_json(space);
  json["families"] = Json::array();
  for (const FamilyListing& listing : space.families) {
    Json genes = list_json(listing.family.genes, gene_json);
    Json constraints = Json::array();
    for (const Constraint& constraint : listing.family.constraints)
      constraints.push_back({{"that", constraint.condition.text()}, {"why", constraint.why}});
    json["families"].push_back({{"name", listing.family.name},
                                {"summary", listing.family.summary},
                                {"requires", listing.family.legal.text()},
                                {"left_out", listing.left_out.empty() ? Json(nullptr) : Json(listing.left_out)},
                                {"legal", listing.legal},
                                {"product", listing.product},
                                {"genes", genes},
                                {"constraints", constraints}});
  }
  return json_text(json);
}

/// A tuning problem of another tuner becomes a family without a task or device.
int t1_space(const SpaceRequest& request) {
  const std::string name = std::filesystem::path(request.t1).filename().string();
  FamilyListing listing;
  listing.family = read_t1(read_text(request.t1), name);
  const Space space({listing.family}, {}, {});
  listing.legal = space.size();
  listing.product = space.product_size(name);
  SpaceListing all;
  all.task.name = name;
  all.families.push_back(listing);
  print("{}", request.json ? space_document(all) : family_text(listing, terminal_of(stdout)));
  return kDone;
}

int space(const SpaceRequest& request) {
  if (!request.t1.empty()) return t1_space(request);
  const SourceTree tree = load_templates(request.templates);
  const Task task = find_task(tree, request.task);
  const std::vector<std::string> shapes = parse_shapes(task, request.shapes);
  const Bindings options = parse_options(task, request.options);
  const DeviceInfo device = find_device(request.device);
  const Target target = make_target(task, device.kind, shapes, options, request.objective);
  const SpaceListing listing = list_space(tree, task, device, target, request.family);
  print("{}", request.json ? space_document(listing) : space_text(listing, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_space(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "space", "Show the search space of a task: families, genes, number of legal genomes", space);
  add_option(command, "--task", "TASK", request.task, "The task (evo tasks lists them)");
  add_option(command, "--device", "DEVICE", request.device, "The device whose limits apply");
  add_option(command, "--family", "NAME", request.family, "Show only this family");
  add_option(command, "--shapes", "A,B", request.shapes, "Shapes, as for evo run");
  add_option(command, "--option", "NAME=VALUE", request.options, "An option of the task, such as out=bf16");
  add_option(command, "--objective", "NAME", request.objective, "Objective of the task, as for evo run");
  add_templates_option(command, request.templates);
  add_option(command, "--t1", "FILE", request.t1, "Read a tuning problem in the T1 format instead of a task");
  add_json_flag(command, request.json);
}

}  // namespace evo::cli
