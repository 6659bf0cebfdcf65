#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/llm/llm_options.h"
#include "cli/subject/lookup.h"
#include "engine/short_form/short_form.h"

namespace CLI {
class App;
}

namespace evo::cli {

/// All proposals of a screening round are held in memory.
inline constexpr std::uint64_t kMostScreened = 1024;
inline constexpr std::uint64_t kMostInFlight = 4096;
inline constexpr std::uint64_t kMostPresearched = 1'000'000;

/// The options of `evo run` as typed; empty where an option was not given. One is added here and in run_options.cpp.
struct RunRequest {
  std::string task;
  std::optional<ShortForm> form;  ///< Of `evo tune`, in the place of a task.
  std::string notes = {};         ///< Lines about it, for people, once the search is set up.
  std::string device;
  std::string devices;
  std::vector<std::string> workers;  ///< Prefixes of hosts; "slurm": those of the allocation.
  std::string hosts;                 ///< A file of them.
  std::string slurm;                 ///< Options of salloc.
  std::string in_flight;
  std::string answers;
  std::vector<std::string> shapes;
  std::string evaluations;
  std::string time;
  std::string check_time;
  std::string until;
  std::string pareto;
  std::string seed;
  std::string strategy;
  std::vector<std::string> options;
  std::string objective;
  std::string resume;
  std::vector<std::string> settings;  ///< The options that were given and that a resumed run has its own of.
  std::string database = kDefaultDatabase;
  std::string templates;
  std::string family;
  std::vector<std::string> seed_from;
  std::string screen;
  std::string presearch;
  std::string proposer;
  std::string proposals;  ///< A file; only these are evaluated.
  std::string proposer_share = "25";
  std::string proposer_deadline = "10s";
  bool edits = false;  ///< Kernels are edited, too.
  std::string edits_share = "50";
  LlmTexts llm;
  std::string llm_share = "25";
  std::string profile;
  std::optional<std::string> watch;  ///< The port; empty: a free one.
  bool quiet = false;
  bool verbose = false;  ///< Lists the shapes that are not validated.
  bool progress = false;
  bool json = false;

  bool has_proposer() const { return !proposer.empty() || !llm.model.empty() || !proposals.empty(); }
};

/// The options of a search that its subject does not change: device, limits, strategy, output.
void add_search_options(CLI::App& command, RunRequest& request);
/// All of `evo run`.
void add_run_options(CLI::App& command, RunRequest& request);

}  // namespace evo::cli
