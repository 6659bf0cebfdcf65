// Every other reader of files, of answers of other programs, and of what is typed: a few lines each.
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/kernel/kernel_arguments.h"
#include "cli/kernel/module_symbols.h"
#include "cli/llm/answer.h"
#include "cli/model/modelled_latencies.h"
#include "cli/model/sweep.h"
#include "cli/report/pareto_front.h"
#include "cli/rivals/foreign_problem.h"
#include "cli/run/remote_hosts.h"
#include "cli/selftest/selftest_record.h"
#include "cli/subject/claim.h"
#include "cli/subject/visit_orders.h"
#include "cli/watch/http_text.h"
#include "engine/base/error.h"
#include "engine/replay/recording_read.h"
#include "engine/short_form/short_form.h"
#include "engine/short_form/t1.h"
#include "engine/task/family.h"
#include "engine/task/task.h"
#include "evaluator/compile/cubin.h"
#include "evaluator/compile/ptx_text.h"
#include "evaluator/compile/ptxas_log.h"
#include "evaluator/compile/writable_globals.h"
#include "evaluator/numbers/numpy.h"
#include "evaluator/worker/device_facts.h"
#include "population/export/read_export.h"
#include "population/results/formats.h"
#include "population/store/store.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace evo;

/// A file that holds the text, in memory where the system has such a folder; removed at the end with what lies beside
/// it under its name.
class FileOf {
 public:
  FileOf(const std::string& text, const std::string& ending) {
    static const std::filesystem::path base = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    folder_ = base / ("evo-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / ("file" + ending)).string();
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~FileOf() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  FileOf(const FileOf&) = delete;
  FileOf& operator=(const FileOf&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Everything that commands show of a database.
void show_all(const Store& store) {
  for (const EliteRow& elite : store.elites()) store.candidate(elite.candidate);
  for (const RunRow& run : store.runs()) {
    store.outcomes(run.id);
    store.notes_of_run(run.id);
    if (const auto first = store.candidate_of(run.id, 0)) store.candidate(*first);
  }
}

}  // namespace

/// The ten lines, also as T1, and a kernel file, parted by a NUL byte.
EVO_FUZZ_TARGET(short_form) {
  const std::size_t cut = text.find('\0');
  const std::string form = text.substr(0, cut), kernels = cut == text.npos ? "" : text.substr(cut + 1);
  const auto read = [&](const std::string& path) {
    if (path == "form.json") return form;
    if (path.ends_with(".json")) throw usage_error(path + " is not a file");
    return kernels;
  };
  const ShortForm found = read_short_form("form.json", read);
  load_families(found.files, load_task(found.files, found.task));
}

EVO_FUZZ_TARGET(t1) {
  read_t1(text, "t1.json");
}
EVO_FUZZ_TARGET(t1_values) {
  t1_values(text);
}
EVO_FUZZ_TARGET(results) {
  read_results(text, "results.json");
}
EVO_FUZZ_TARGET(recording) {
  read_recording(text, "space");
}
EVO_FUZZ_TARGET(sweep) {
  cli::read_sweep(FileOf(text, ".json").path());
}
EVO_FUZZ_TARGET(gzip) {
  cli::read_sweep(FileOf(text, ".json.gz").path());
}
EVO_FUZZ_TARGET(exported) {
  read_exports(text, "best.cu");
  cli::exported_claims(FileOf(text, ".cu").path());
}
EVO_FUZZ_TARGET(http) {
  cli::read_request(text);
}
EVO_FUZZ_TARGET(numpy) {
  parse_numpy("y.npy", text);
}
EVO_FUZZ_TARGET(answer) {
  cli::read_answer(text);
}
EVO_FUZZ_TARGET(orders) {
  cli::parse_orders(text, "orders.jsonl");
}
EVO_FUZZ_TARGET(hosts) {
  cli::read_hosts(FileOf(text, "").path());
}
EVO_FUZZ_TARGET(rivals) {
  cli::read_rivals({FileOf(text, ".jsonl").path()});
}
EVO_FUZZ_TARGET(devices) {
  devices_from_json(text);
}
EVO_FUZZ_TARGET(genome) {
  genome_from_json(text);
}
EVO_FUZZ_TARGET(modelled) {
  cli::read_modelled_latencies({FileOf(text, ".csv").path()});
}
EVO_FUZZ_TARGET(argument) {
  cli::parse_argument(text, 1);
}
EVO_FUZZ_TARGET(symbol) {
  cli::parse_symbol(text);
}
EVO_FUZZ_TARGET(definition) {
  cli::read_foreign_problem(FileOf(text, ".json").path(), "");
}

/// The record of a self-test that templates ship.
EVO_FUZZ_TARGET(passed) {
  Task task;
  task.name = "t";
  cli::ships_pass({{"t/mutants/passed/vgpu.json", text}}, task, "vgpu");
}

EVO_FUZZ_TARGET(cubin) {
  cubin_hash(bytes_of(text));
  cubin_hash(bytes_of(text), {"k"});
  machine_code(bytes_of(text));
}

/// What compilers print, and what evo reads of PTX beside the virtual GPU.
EVO_FUZZ_TARGET(compiler_text) {
  kernel_builds(text);
  repeatable_log(text);
  first_error(text);
  const auto kernels = ptx_text::kernels(text);
  ptx_text::waiting_kernels(text);
  ptx_text::cooperative_kernels(text);
  ptx_text::source_lines(text, ptx_text::reached_routines(text, {kernels.begin(), kernels.end()}), "kernel.cu");
  writable_globals(text);
  device_variables(text);
}

EVO_FUZZ_TARGET(database) {
  const FileOf file(text, ".db");
  try {
    show_all(Store::open(file.path(), Store::Mode::read));
  } catch (const Error&) {
    // What is wrong with it is for the check.
  }
  Store::open(file.path(), Store::Mode::inspect).check();
}
