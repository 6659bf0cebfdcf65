#include "cli/subject/recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "cli/text/files.h"
#include "cli/text/gzip.h"
#include "engine/base/error.h"
#include "engine/replay/recording_read.h"
#include "population/store/store.h"

namespace evo::cli {
namespace {

// "spaces/gemm__RTX3090.T4.json.gz" is gemm__RTX3090.
std::string name_of_file(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view ending : {".gz", ".json", ".csv", ".T4"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

// How long it took to compile and time a candidate.
double cost_s(const Evaluation& evaluation) {
  double cost_ms = 0;
  for (const Build& build : evaluation.builds) cost_ms += build.compile_ms;
  for (const Timing& timing : evaluation.timings) {
    for (const double sample_us : timing.samples_us) cost_ms += sample_us / 1e3;
  }
  return cost_ms / 1e3;
}

RecordedEntry entry_of(const CandidateRow& row) {
  RecordedEntry entry;
  entry.genes = {row.genome.genes.begin(), row.genome.genes.end()};
  entry.genes["family"] = row.genome.family;
  entry.latency_us = latency_of(row.evaluation);
  entry.verdict = row.evaluation.verdict;
  entry.cost_s = cost_s(row.evaluation);
  return entry;
}

/// The candidates of runs that can be compared.
struct Comparable {
  std::vector<RecordedEntry> entries;
  std::vector<std::string> genes = {"family"};
};

std::vector<Recording> read_database(const std::filesystem::path& path) {
  const Store store = Store::open(path, Store::Mode::read);
  std::map<std::string, Comparable> groups;
  for (const RunRow& run : store.runs()) {
    const std::string key =
        fmt::format("{} {} {} {}", run.info.task, run.info.task_hash, device_key(run.info.device), run.info.objective);
    Comparable& group = groups[key];
    for (const OutcomeRow& outcome : store.outcomes(run.id)) {
      const std::optional<CandidateRow> row = store.candidate(outcome.candidate);
      // A failure of the harness is not the genome's.
      if (!row || row->evaluation.verdict == Verdict::harness_failed) continue;
      group.entries.push_back(entry_of(*row));
      for (const auto& [gene, allele] : row->genome.genes) {
        if (std::find(group.genes.begin(), group.genes.end(), gene) == group.genes.end()) group.genes.push_back(gene);
      }
    }
  }
  std::vector<Recording> recordings;
  for (const auto& [key, group] : groups) {
    if (group.entries.empty()) continue;
    const std::string name = groups.size() == 1 ? name_of_file(path) : name_of_file(path) + ": " + key;
    recordings.push_back(make_recording(name, group.genes, {}, group.entries));
  }
  if (recordings.empty()) throw usage_error(fmt::format("{}: the database has no evaluated candidates", path.string()));
  return recordings;
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    throw usage_error(fmt::format("no file {}", path.string()));
  if (error) throw usage_error(fmt::format("{}: {}", path.string(), error.message()));
  if (std::filesystem::is_fifo(status)) throw usage_error(fmt::format("{} is a pipe, not a file", path.string()));
  if (std::filesystem::is_directory(status))
    throw usage_error(fmt::format("{} is a folder, not a file", path.string()));
  GzipFile file = read_gzip_file(path);
  if (!file.whole) throw usage_error(fmt::format("{} cannot be decompressed: it is damaged or cut off", path.string()));
  return plain_text(std::move(file.text), path);
}

bool is_database(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // A pipe may be read once.
  std::string beginning(16, '\0');
  std::ifstream(path, std::ios::binary).read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return beginning.starts_with("SQLite format 3");
}

std::vector<Recording> open_recordings(const std::filesystem::path& path) {
  if (is_database(path)) return read_database(path);
  const std::string text = read_text(path);
  std::vector<Recording> recordings;
  recordings.push_back(read_recording(text, name_of_file(path)));
  return recordings;
}

}  // namespace evo::cli
