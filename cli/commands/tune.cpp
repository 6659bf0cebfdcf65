#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/check/gene_use.h"
#include "cli/check/measured_limits.h"
#include "cli/commands/commands.h"
#include "cli/commands/run.h"
#include "cli/run/run_options.h"
#include "cli/sources/short_form_file.h"
#include "cli/text/files.h"
#include "cli/text/json_text.h"
#include "cli/text/shell_words.h"
#include "cli/text/table.h"
#include "engine/base/text.h"
#include "engine/expression/json_value.h"

namespace evo::cli {
namespace {

struct TuneRequest {
  RunRequest run;
  std::string file;
  std::string folder;
  std::string launch;
  std::vector<std::string> sizes;
  bool genes = false;
};

constexpr const char* kHelp =
    R"help(FILE.json, whose paths are relative to its folder (docs/templates.md, "Ten lines"):
  { "kernel": "scale.cu:scale",
    "genes": {"threads": [64, 128, 256], "vector": [1, 2, 4]},
    "restrict": ["threads * vector <= 512"],
    "shapes": [{"N": 4096}, {"N": 1001}],
    "arguments": ["y=out float[N]", "x=float[N]", "float:0.5", "N"],
    "grid": ["ceil_div(N, threads * vector)"], "block": ["threads"],
    "reference": "scale.cu:scale_naive"
}
Genes are macros of the kernel's file, which is not touched. FILE.json may also be a T1 file, as Kernel Tuner takes it.
FILE.cu needs no JSON: evo finds what can be chosen in it (docs/evolution.md). The file may say its launch and sizes:
  // evo: launch scale<<<ceil_div(N, 256), 256>>>(y=out float[N], x=float[N], float:0.5, N)
  // evo: size N=4096)help";

/// A gene that changes nothing multiplies equal programs.
void refuse_unused_genes(const ShortForm& form) {
  const Family family = load_families(form.files, load_task(form.files, form.task)).front();
  for (const std::string& name : unused_genes(form.files, family)) {
    const auto gene = std::ranges::find(family.genes, name, &Gene::name);
    if (gene->alleles.size() == 1) continue;
    throw usage_error(form.in_authors_places(fmt::format(
        "{}/{}/family.json: genes[{}]: gene '{}' changes nothing: neither the kernel's files nor the launch read it",
        form.task, family.name, gene - family.genes.begin(), name)));
  }
}

/// Where its limits come from, line by line.
std::string measured_limits(ShortForm& form) {
  std::string lines;
  for (const LimitSource& limit : take_measured_limits(form))
    lines += fmt::format("limits: {}: {}\n", limit.output, limit.text);
  return lines;
}

/// Writes the folder that the short form stands for. Nothing of the user's is overwritten.
int expand(const TuneRequest& request, const ShortForm& form, const std::string& notes) {
  namespace fs = std::filesystem;
  const fs::path root = request.folder;
  std::error_code error;
  if (fs::exists(root / form.task, error))
    throw usage_error(fmt::format("--expand {}: {} exists: remove it or name another folder", request.folder,
                                  (root / form.task).string()));
  for (const auto& [path, text] : form.files) {
    const fs::path file = root / path;
    fs::create_directories(file.parent_path(), error);
    if (error) throw machine_error(fmt::format("cannot make {}: {}", file.parent_path().string(), error.message()));
    write_file(file, text);
    print("{}\n", file.string());
  }
  write_to_stderr(notes);
  print("search it:  evo run --task {} --templates {}\n", form.task, shell_word(request.folder));
  return kDone;
}

/// "32, 64, [256]": the author's own in brackets.
std::string values_text(const Choice& choice) {
  return joined(choice.values, ", ", [&](const Value& value) {
    const std::string text = expr::to_string(value);
    return value == choice.own ? fmt::format("[{}]", text) : text;
  });
}

int show_choices(const std::string& file, const std::vector<Choice>& choices, bool as_json) {
  if (as_json) {
    Json json = json_document("choices");
    json["choices"] = Json::array();
    for (const Choice& choice : choices)
      json["choices"].push_back({{"gene", choice.gene},
                                 {"line", choice.line == 0 ? Json(nullptr) : Json(choice.line)},
                                 {"what", choice.what},
                                 {"values", to_json<Json>(choice.values)},
                                 {"own", to_json<Json>(choice.own)}});
    print("{}", json_text(json));
    return kDone;
  }
  const Terminal terminal = terminal_of(stdout);
  Table table({"gene", ">line", "values, yours in [ ]", "what"});
  for (const Choice& choice : choices)
    table.add(
        {choice.gene, choice.line == 0 ? "launch" : std::to_string(choice.line), values_text(choice), choice.what});
  print("{}: {} choice{}\n{}", file, choices.size(), choices.size() == 1 ? "" : "s", table.text(terminal));
  return kDone;
}

void check_plain_options(const TuneRequest& request) {
  if (is_cuda_source(request.file) || (request.launch.empty() && request.sizes.empty() && !request.genes)) return;
  throw usage_error(
      fmt::format("--launch, --size and --genes are of a kernel's source (FILE.cu); {} says it all", request.file));
}

int tune(const TuneRequest& request, const std::string& command_line) {
  check_plain_options(request);
  ShortForm form;
  if (is_cuda_source(request.file)) {
    PlainSubject plain = load_plain_kernel({request.file, request.launch, request.sizes});
    if (request.genes) return show_choices(request.file, plain.choices, request.run.json);
    form = std::move(plain.form);
  } else {
    form = load_short_form(request.file);
  }
  refuse_unused_genes(form);
  const std::string notes = measured_limits(form);
  if (!request.folder.empty()) return expand(request, form, notes);
  RunRequest wanted = request.run;
  wanted.form = form;
  wanted.notes = notes;
  try {
    return run(wanted, command_line);
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    throw usage_error(form.in_authors_places(error.what()));
  }
}

}  // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(app, invocation, "tune",
                                        "Tune your own kernel, unchanged: as it is, or with ten lines of JSON", tune);
  add_option(command, "FILE", "", request.file,
             "FILE.json: the kernel, its genes, its arguments; or the kernel's FILE.cu")
      ->required();
  add_option(command, "--launch", "LINE", request.launch,
             "Of FILE.cu: 'kernel<<<grid, block>>>(y=out float[N], x=float[N], N)'");
  add_option(command, "--size", "N=4096,M=8", request.sizes, "Of FILE.cu: a size to run at; the first is timed");
  command.add_flag("--genes", request.genes, "Of FILE.cu: print what can be chosen, and run nothing");
  add_option(command, "--expand", "DIR", request.folder,
             "Write the task folder that FILE.json stands for, and run nothing");
  add_search_options(command, request.run);
  command.footer(kHelp);
}

}  // namespace evo::cli
