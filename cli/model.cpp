#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/atomic_file.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/model_fit.h"
#include "cli/table.h"
#include "cli/templates.h"
#include "engine/error.h"

namespace evo::cli {
namespace {

struct Request {
  std::vector<std::string> sweeps;
  std::string limit;
  std::string skip = "0";
  std::string device;
  std::string kept;
  std::string csv;
  std::string templates;
  bool json = false;
};

std::string fits_text(const std::vector<Fit>& fits, const Terminal& terminal) {
  using Align = Table::Align;
  Table table({{"sweep"},
               {"device"},
               {"genomes", Align::right},
               {"failed", Align::right},
               {"Spearman", Align::right},
               {"ahead of best", Align::right},
               {"modelled/measured", Align::right},
               {"spread", Align::right}});
  for (const Fit& fit : fits) {
    table.add({fit.name, fit.device, grouped(std::uint64_t{fit.points.size()}),
               grouped(std::uint64_t{fit.failed}), fmt::format("{:.3f}", fit.spearman),
               percent(fit.best_share), fmt::format("{:.2f}", fit.median_ratio),
               fmt::format("{:.2f}", fit.spread)});
  }
  return table.text(terminal) +
         "ahead of best: genomes that the model ranks before the one measured fastest; spread: half of the "
         "genomes are "
         "within this factor of the median ratio\n";
}

std::string fits_json(const std::vector<Fit>& fits) {
  using Json = nlohmann::ordered_json;
  Json json = {{"evo", EVO_VERSION}, {"command", "model"}, {"sweeps", Json::array()}};
  for (const Fit& fit : fits) {
    json["sweeps"].push_back({{"name", fit.name},
                              {"device", fit.device},
                              {"family", fit.family},
                              {"shape", fit.shape},
                              {"genomes", fit.points.size()},
                              {"failed", fit.failed},
                              {"spearman", fit.spearman},
                              {"ahead_of_best", fit.best_share},
                              {"median_ratio", fit.median_ratio},
                              {"spread", fit.spread}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int compare_with_sweeps(const Request& request) {
  if (request.sweeps.empty()) throw usage_error("name a recorded sweep with --against");
  const SourceTree tree = load_templates(request.templates);
  FitRequest wanted;
  wanted.skip = parse_number("--skip", request.skip);
  if (!request.limit.empty()) wanted.limit = parse_number("--limit", request.limit, 2);
  wanted.device = request.device;
  wanted.kept = request.kept;
  std::vector<Fit> fits;
  for (const std::string& sweep : request.sweeps) fits.push_back(fit_of(tree, read_sweep(sweep), wanted));
  if (!request.csv.empty()) write_file(request.csv, fit_csv(fits));
  fmt::print("{}", request.json ? fits_json(fits) : fits_text(fits, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_model(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("model", "Show where modelled time goes; compare the model with measurements");
  command
      ->add_option("--against", request->sweeps,
                   "Compare with recorded latencies: a Kernel Tuner cache; may be repeated")
      ->allow_extra_args(false)
      ->type_name("SWEEP");
  command->add_option("--limit", request->limit, "Genomes drawn of each sweep (default: all)")
      ->type_name("N");
  command
      ->add_option("--skip", request->skip, "Draw this many others first: disjoint from what --limit N draws")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--device", request->device, "vgpu:MODEL (default: like the GPU that measured)")
      ->type_name("DEVICE");
  command->add_option("--keep", request->kept, "Keep compiled programs there for the next time")
      ->type_name("DIR");
  command->add_option("--csv", request->csv, "Write each genome with both latencies")->type_name("FILE");
  command->add_option("--templates", request->templates, kTemplatesHelp)->type_name("DIR");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action] { action = [request] { return compare_with_sweeps(*request); }; });
}

}  // namespace evo::cli
