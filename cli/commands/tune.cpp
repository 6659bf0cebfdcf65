#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/check/gene_use.h"
#include "cli/check/measured_limits.h"
#include "cli/commands/commands.h"
#include "cli/commands/run.h"
#include "cli/run/run_options.h"
#include "cli/sources/short_form_file.h"
#include "cli/text/files.h"
#include "cli/text/shell_words.h"

namespace evo::cli {
namespace {

struct TuneRequest {
  RunRequest run;
  std::string file;
  std::string folder;
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
Genes are macros of the kernel's file, which is not touched. FILE.json may also be a T1 file, as Kernel Tuner takes it.)help";

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

int tune(const TuneRequest& request, const std::string& command_line) {
  ShortForm form = load_short_form(request.file);
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
  auto [command, request] = add_command(
      app, invocation, "tune", "Tune your own kernel, unchanged: ten lines of JSON name genes and arguments", tune);
  add_option(command, "FILE.json", "", request.file, "The kernel, its genes, its arguments")->required();
  add_option(command, "--expand", "DIR", request.folder,
             "Write the task folder that FILE.json stands for, and run nothing");
  add_search_options(command, request.run);
  command.footer(kHelp);
}

}  // namespace evo::cli
