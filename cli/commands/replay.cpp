#include "engine/replay/replay.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands/commands.h"
#include "cli/model/modelled_latencies.h"
#include "cli/subject/recordings.h"
#include "cli/subject/visit_orders.h"
#include "cli/text/curves_svg.h"
#include "cli/text/files.h"
#include "engine/base/text.h"
#include "engine/replay/replay_report.h"
#include "engine/strategy/strategies.h"
#include "evaluator/base/parallel.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLeastEvaluations = 200;

struct ReplayRequest {
  std::vector<std::string> files;
  std::string strategies = "evolve,random";
  std::string evaluations;
  std::string runs = "20";
  std::string seed = "0";
  std::string width = "1";
  std::string budgets = "25,50,100,200";
  std::string screen;
  std::string presearch;
  std::string ahead = "0";
  std::vector<std::string> modelled;
  std::vector<std::string> others;
  std::vector<std::string> seed_from;
  std::string out;
  std::string svg;
  bool json = false;
};

/// A recorded space and what was run on it.
struct Replayed {
  explicit Replayed(Recording recorded) : recording(std::move(recorded)), space(recording), methodology(recording) {}

  Recording recording;
  RecordedSpace space;
  Methodology methodology;
  struct Entry {
    std::string strategy;
    std::vector<std::uint64_t> seeds;
    Orders orders;
    ReplaySamples samples;
  };
  std::vector<Entry> entries;
};
// Its parts refer to each other: it stays where it is made.
using Spaces = std::deque<Replayed>;

std::vector<std::size_t> parse_budgets(const std::string& text) {
  std::vector<std::size_t> budgets;
  for (const std::string& part : split(text, ',')) budgets.push_back(parse_number("--budgets", part, 1));
  if (!std::is_sorted(budgets.begin(), budgets.end()))
    throw usage_error("--budgets: expected ascending numbers of evaluations, as 50,100,200");
  return budgets;
}

void open_spaces(const ReplayRequest& request, Spaces& spaces) {
  std::set<std::string> names;
  for (const std::string& file : request.files) {
    for (Recording& recording : open_recordings(file)) {
      if (!names.insert(recording.name).second)
        throw usage_error(fmt::format("{}: a space named {} is given already", file, recording.name));
      spaces.emplace_back(std::move(recording));
    }
  }
}

/// What is modelled of each row; the latency is infinite for a row that cannot be built. Throws usage_error when it is
/// needed and no file has modelled latencies of the space.
std::vector<PredictedLatency> predicted_rows(const Recording& recording,
                                             const std::map<std::string, ModelledLatencies>& modelled,
                                             const ReplayLimits& limits) {
  std::vector<PredictedLatency> predicted(recording.rows.size());
  const auto space = modelled.find(recording.name);
  if ((limits.screen > 1 || limits.presearch > 0) && space == modelled.end())
    throw usage_error(fmt::format("{}: no --modelled file knows the space {}",
                                  limits.screen > 1 ? "--screen" : "--presearch", recording.name));
  if (space == modelled.end()) return predicted;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const RecordedRow& row = recording.rows[i];
    if (!was_built(row.verdict)) {
      predicted[i].latency = std::numeric_limits<double>::infinity();
    } else if (const PredictedLatency* one = space->second.of(genome_of(recording.family, row.alleles))) {
      predicted[i] = *one;
    }
  }
  return predicted;
}

/// The best of other recordings, as near as they come to genomes of this one; chosen by what is predicted of them where
/// the runs are screened.
std::vector<Seed> seeds_for(const Replayed& space, const std::vector<Recording>& warm_start,
                            const std::vector<PredictedLatency>& predicted, std::size_t screen) {
  std::vector<std::vector<Seed>> boards;
  for (const Recording& recording : warm_start) {
    std::vector<Seed>& board = boards.emplace_back();
    for (Genome& genome : best_genomes(recording, kSeedCandidates)) {
      genome.family = space.recording.family.name;
      board.push_back({std::move(genome), recording.name});
    }
  }
  RecordedLatencyPredictor predictor(space.space, predicted);
  return screen > 1 ? seeds_in(space.space.space(), boards, predictor) : seeds_in(space.space.space(), boards);
}

/// Runs are independent, so they may take any thread in any order; each result has its place.
void run_all(Replayed& space, const std::string& strategy, std::size_t runs, std::uint64_t first_seed,
             const ReplayLimits& limits, const std::vector<Seed>& seeds,
             const std::vector<PredictedLatency>& predicted) {
  make_strategy(strategy, space.space.space(), 0);  // throws for a wrong name or an unsuitable space
  Replayed::Entry entry{strategy, std::vector<std::uint64_t>(runs), Orders(runs), {}};
  parallel_each(runs, [&] {
    return [&](std::size_t run) {
      entry.seeds[run] = first_seed + run;
      entry.orders[run] = replay(space.space, strategy, first_seed + run, limits, seeds, predicted);
    };
  });
  space.entries.push_back(std::move(entry));
}

/// Adds the runs of other tuners on these spaces.
void add_recorded_runs(const std::vector<std::string>& files, Spaces& spaces) {
  for (const std::string& file : files) {
    for (Visits& run : parse_orders(read_text(file), file)) {
      const auto space =
          std::find_if(spaces.begin(), spaces.end(), [&](const Replayed& s) { return s.recording.name == run.space; });
      if (space == spaces.end()) continue;
      for (const std::size_t row : run.order) {
        if (row >= space->recording.rows.size())
          throw usage_error(
              fmt::format("{}: row {} of {}, which has {}", file, row, run.space, space->recording.rows.size()));
      }
      auto entry = std::find_if(space->entries.begin(), space->entries.end(),
                                [&](const auto& e) { return e.strategy == run.strategy; });
      if (entry == space->entries.end()) {
        space->entries.push_back({run.strategy, {}, {}, {}});
        entry = space->entries.end() - 1;
      }
      entry->seeds.push_back(run.seed);
      entry->orders.push_back(std::move(run.order));
    }
  }
}

// --- for people

std::string cell(const Figure& figure, int digits) {
  return fmt::format("{:.{}f} ±{:.{}f}", figure.value, digits, (figure.high - figure.low) / 2, digits);
}

Table figures_table(const std::vector<std::size_t>& budgets) {
  std::vector<std::string> columns = {"strategy", ">runs"};
  for (const std::size_t budget : budgets) columns.push_back(fmt::format(">best@{}", budget));
  columns.insert(columns.end(), {fmt::format(">within 5 %@{}", budgets.back()), ">to 5 %", ">P", ">evals"});
  return Table(columns);
}

void add_row(Table& table, const std::string& strategy, const ReplayFigures& figures) {
  std::vector<std::string> cells = {strategy, std::to_string(figures.runs)};
  for (const Figure& best : figures.best) cells.push_back(cell(best, 3));
  cells.push_back(cell(figures.hit, 2));
  cells.push_back(cell(figures.reach, 0));
  cells.push_back(cell(figures.score, 3));
  cells.push_back(fmt::format("{:.0f}", figures.evaluations));
  table.add(std::move(cells));
}

/// Strategies that were run on every space, with their means over spaces; best first.
std::vector<std::pair<std::string, ReplayFigures>> means(const Spaces& spaces) {
  std::vector<std::pair<std::string, ReplayFigures>> result;
  for (const auto& entry : spaces.front().entries) {
    std::vector<const ReplaySamples*> samples;
    for (const Replayed& space : spaces) {
      for (const auto& other : space.entries) {
        if (other.strategy == entry.strategy) samples.push_back(&other.samples);
      }
    }
    if (samples.size() == spaces.size()) result.emplace_back(entry.strategy, mean_over(samples));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second.score.value > b.second.score.value; });
  return result;
}

std::string replay_text(const Spaces& spaces, const std::vector<std::size_t>& budgets, const Terminal& terminal) {
  std::string text;
  for (const Replayed& space : spaces) {
    const Methodology& methodology = space.methodology;
    text += styled(terminal, Style::bold, space.recording.name);
    text += fmt::format(": {} configurations, {} valid, optimum {} us, median {} us; P up to {} evaluations' time\n",
                        grouped(std::uint64_t{space.recording.rows.size()}),
                        grouped(std::uint64_t{methodology.valid()}), microseconds(methodology.optimum_us()),
                        microseconds(methodology.median_us()), methodology.cutoff_evaluations());
    Table table = figures_table(budgets);
    for (const auto& entry : space.entries) add_row(table, entry.strategy, entry.samples.figures);
    text += table.text(terminal, 2) + "\n";
  }
  if (spaces.size() > 1) {
    text += styled(terminal, Style::bold, fmt::format("mean of {} spaces", spaces.size())) + "\n";
    Table table = figures_table(budgets);
    for (const auto& [strategy, figures] : means(spaces)) add_row(table, strategy, figures);
    text += table.text(terminal, 2) + "\n";
  }
  return text +
         "best@N: best latency after N evaluations / optimum; ±: half of the 95 % interval over runs; to 5 "
         "%: evaluations until "
         "within 5 % of the optimum\n";
}

// --- for programs

Json figure_json(const Figure& figure) {
  return {{"value", figure.value}, {"low", figure.low}, {"high", figure.high}};
}

Json figures_json(const std::string& strategy, const ReplayFigures& figures, const std::vector<std::size_t>& budgets) {
  Json best = Json::array();
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    Json at = figure_json(figures.best[i]);
    at["evaluations"] = budgets[i];
    best.push_back(std::move(at));
  }
  return {{"strategy", strategy},
          {"runs", figures.runs},
          {"best", best},
          {"within_5_percent", figure_json(figures.hit)},
          {"evaluations_to_5_percent", figure_json(figures.reach)},
          {"score", figure_json(figures.score)},
          {"evaluations", figures.evaluations}};
}

std::string replay_document(const Spaces& spaces, const std::vector<std::size_t>& budgets) {
  Json json = json_document("replay");
  json["spaces"] = Json::array();
  json["mean"] = Json::array();
  for (const Replayed& space : spaces) {
    Json strategies = list_json(space.entries, [&](const auto& entry) {
      Json figures = figures_json(entry.strategy, entry.samples.figures, budgets);
      figures["seeds"] = entry.seeds;
      figures["best_by_run"] = entry.samples.best_by_run;
      return figures;
    });
    json["spaces"].push_back({{"name", space.recording.name},
                              {"configurations", space.recording.rows.size()},
                              {"valid", space.methodology.valid()},
                              {"optimum_us", space.methodology.optimum_us()},
                              {"median_us", space.methodology.median_us()},
                              {"cutoff_evaluations", space.methodology.cutoff_evaluations()},
                              {"strategies", std::move(strategies)}});
  }
  for (const auto& [strategy, figures] : means(spaces))
    json["mean"].push_back(figures_json(strategy, figures, budgets));
  return json_text(json);
}

void write_orders(const std::string& file, const Spaces& spaces, const std::vector<std::string>& strategies) {
  std::vector<Visits> runs;
  for (const Replayed& space : spaces) {
    for (const auto& entry : space.entries) {
      if (std::find(strategies.begin(), strategies.end(), entry.strategy) == strategies.end()) continue;
      for (std::size_t i = 0; i < entry.orders.size(); ++i)
        runs.push_back({space.recording.name, entry.strategy, entry.seeds[i], entry.orders[i]});
    }
  }
  write_file(file, orders_text(runs));
}

void write_curves(const std::string& file, const Spaces& spaces, std::size_t evaluations) {
  std::vector<Panel> panels;
  for (const Replayed& space : spaces) {
    Panel panel{space.recording.name, {}};
    for (const auto& entry : space.entries)
      panel.curves.push_back(
          {entry.strategy, convergence(space.recording, space.methodology, entry.orders, evaluations)});
    panels.push_back(std::move(panel));
  }
  write_file(file, curves_svg(panels));
}

int replay_spaces(const ReplayRequest& request) {
  // What to run.
  const std::vector<std::size_t> budgets = parse_budgets(request.budgets);
  std::vector<std::string> strategies = split(request.strategies, ',');
  if (request.strategies == "none") strategies.clear();
  const std::size_t runs = parse_number("--runs", request.runs, 1);
  const std::uint64_t seed = parse_number("--seed", request.seed);
  Spaces spaces;
  open_spaces(request, spaces);
  std::vector<Recording> warm_start;
  for (const std::string& file : request.seed_from) {
    for (Recording& recording : open_recordings(file)) warm_start.push_back(std::move(recording));
  }

  const std::map<std::string, ModelledLatencies> modelled = read_modelled_latencies(request.modelled);

  // The runs. By default each lasts as long as the score P covers.
  for (Replayed& space : spaces) {
    ReplayLimits limits;
    limits.width = parse_number("--width", request.width, 1);
    limits.evaluations = std::max(kLeastEvaluations, budgets.back());
    limits.seconds = space.methodology.cutoff_s();
    if (!request.evaluations.empty()) {
      limits.evaluations = parse_number("--evals", request.evaluations, 1);
      limits.seconds = 0;
    }
    if (!request.screen.empty()) limits.screen = parse_number("--screen", request.screen, 1);
    if (!request.presearch.empty()) limits.presearch = parse_number("--presearch", request.presearch);
    limits.ahead = parse_number("--ahead", request.ahead);
    const auto predicted = predicted_rows(space.recording, modelled, limits);
    const std::vector<Seed> seeds = seeds_for(space, warm_start, predicted, limits.screen);
    for (const std::string& strategy : strategies) run_all(space, strategy, runs, seed, limits, seeds, predicted);
  }
  add_recorded_runs(request.others, spaces);
  if (spaces.front().entries.empty())
    throw usage_error("nothing to score: name a strategy, or a file of visits --with");

  // The results.
  for (Replayed& space : spaces) {
    for (auto& entry : space.entries) entry.samples = assess(space.recording, space.methodology, entry.orders, budgets);
  }
  if (!request.out.empty()) write_orders(request.out, spaces, strategies);
  if (!request.svg.empty()) write_curves(request.svg, spaces, budgets.back());
  print("{}", request.json ? replay_document(spaces, budgets) : replay_text(spaces, budgets, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_replay(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "replay",
                  "Run search strategies on recorded spaces, without a device, and score them", replay_spaces);
  command
      .add_option("SPACE", request.files,
                  "Recorded spaces: Kernel Tuner caches, T4 or KTT results, CSV, plain or gzipped, or "
                  "databases of evo")
      ->required();
  add_option(command, "--strategy", "A,B", request.strategies,
             fmt::format("{}; or none, with --with", list_of(strategy_names())));
  add_option(command, "--evals", "N", request.evaluations,
             "Evaluations of each run (default: as many as the score P covers, at least 200)");
  add_option(command, "--runs", "R", request.runs, "Runs of each strategy, with seeds S, S+1, ...");
  add_option(command, "--seed", "S", request.seed, "Seed of the first run");
  add_option(command, "--width", "Q", request.width, "Candidates in flight");
  add_option(command, "--budgets", "A,B", request.budgets, "Print the best latency after so many evaluations");
  add_option(command, "--screen", "N", request.screen,
             "Surrogate screening: evaluate only one of every N proposals, the fastest in --modelled");
  add_option(command, "--presearch", "M", request.presearch,
             "Model-only pre-search: begin each run with the best of M genomes, searched by --modelled alone");
  add_former_name(command, "--rehearse", "--presearch", request.presearch);
  add_option(command, "--ahead", "N", request.ahead,
             "With --screen: use each prediction N evaluations after its start");
  add_option(command, "--modelled", "FILE", request.modelled,
             "Modelled latencies: a file that evo model --against SPACE --csv wrote");
  add_option(command, "--with", "FILE", request.others,
             "Also score the visits of another tuner, in the format that --out writes");
  add_option(command, "--seed-from", "FILE", request.seed_from,
             "Warm start: begin each run with the best genomes of this other recorded space");
  add_option(command, "--out", "FILE", request.out,
             "Write the order in which each run visited the space, as JSON lines");
  add_option(command, "--svg", "FILE", request.svg, "Plot the convergence curves");
  add_json_flag(command, request.json);
}

}  // namespace evo::cli
