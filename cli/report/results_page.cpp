#include "cli/report/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "cli/report/front_plot.h"
#include "cli/report/pareto_front.h"
#include "cli/rivals/sitting_report.h"
#include "cli/rivals/sitting_table.h"
#include "cli/subject/best_rival.h"
#include "cli/subject/elite_table.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/format.h"
#include "cli/text/markdown.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"

namespace evo::cli {
namespace {

constexpr std::string_view kWhatIsShown =
    "The best elite of each objective and shape in the database that `evo results` was given, and the candidates that "
    "`evo baseline` timed in turns with rivals.";
constexpr std::string_view kMeasuredPage =
    "A latency is the warm median, with its 95 % interval; over several shapes it is the geometric mean.";
constexpr std::string_view kModelledPage =
    "Nothing here is measured: latencies and what bounds kernels come from the cost model of the virtual GPU.";
constexpr std::string_view kColumnNotes =
    "\"Error\" is the relative L2 error on inputs like those that rivals were given, \"largest error\" that over all "
    "validated cases. \"Found as\" says which candidate of its run the kernel was, how long the run took, and how it "
    "came to be: a `proposer` named it, a `seed` is of the pre-search or of earlier results, all others are the "
    "strategy's.";

/// The fastest kernel of one task, device and objective, with all that the page says of it.
struct BestKernel {
  EliteRow elite;
  CandidateRow candidate;
  RunRow run;
  Task task;
  std::vector<OutcomeRow> outcomes;  ///< Of its run.
};

BestKernel best_kernel(const Store& store, const EliteRow& elite) {
  BestKernel best{.elite = elite,
                  .candidate = find_candidate(store, elite.candidate),
                  .run = find_run(store, elite.run),
                  .task = {},
                  .outcomes = store.outcomes(elite.run)};
  best.task = load_task(files_of(store, best.run), elite.task);
  return best;
}

/// "nvidia_h100_80gb_hbm3": lower case, runs of other characters than letters and digits as one underscore.
std::string file_stem(const std::string& text) {
  std::string stem;
  for (const char c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (kept) {
      stem += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!stem.empty() && stem.back() != '_') {
      stem += '_';
    }
  }
  while (stem.ends_with('_')) stem.pop_back();
  return stem;
}

std::string shape_sizes(const Shape& shape, const Task& task) {
  std::string text;
  for (const std::string& parameter : task.shape_parameters)
    text += fmt::format("{}{}", text.empty() ? "" : ",", expr::to_string(shape.parameters.at(parameter)));
  return text;
}

/// "1,8,512,64 (mission)"; without a name where the sizes are all there is.
std::string shape_label(const Shape& shape, const Task& task) {
  const std::string sizes = shape_sizes(shape, task);
  return shape.name.find('=') == std::string::npos ? fmt::format("{} ({})", sizes, shape.name) : sizes;
}

std::string shapes_label(const BestKernel& best) {
  std::string text;
  for (const Shape& shape : best.run.info.target.timed)
    text += (text.empty() ? "" : "; ") + shape_label(shape, best.task);
  return text;
}

/// "95 of 126 in 110 s, seed 1": which candidate of its run it was.
std::string search_label(const BestKernel& best) {
  const auto found =
      std::ranges::find_if(best.outcomes, [&](const OutcomeRow& one) { return one.candidate == best.candidate.id; });
  const double seconds = best.outcomes.empty() ? 0 : best.outcomes.back().seconds;
  return fmt::format("{} of {} in {}, seed {}", found - best.outcomes.begin() + 1, best.outcomes.size(),
                     duration_text(seconds), best.run.info.seed);
}

/// What bounds it, without what its warps wait for.
std::string bound_label(const BestKernel& best) {
  std::string text;
  for (const Profile& profile : best.candidate.evaluation.profiles) {
    std::string words = in_words(profile);
    words.resize(std::min(words.find(';'), words.size()));
    if (words.starts_with("bound by ")) words.erase(0, 9);
    if (profile.modelled == best.elite.modelled && !words.empty()) text += (text.empty() ? "" : "; ") + words;
  }
  return text;
}

/// The best rival of its newest sitting on its own model of device.
std::string rival_label(const BestKernel& best) {
  const Sitting* sitting = sitting_on(best.candidate.sittings, best.elite.device);
  const RivalResult* rival = sitting == nullptr ? nullptr : best_rival(*sitting);
  if (rival == nullptr) return "";
  return fmt::format("{:.3g} [{:.3g}, {:.3g}] of {} ({} us)", rival->ratio, rival->ratio_low, rival->ratio_high,
                     rival->name, microseconds(*rival->median_us));
}

/// What the kernels of one table share: the objective without its shapes, the options, and the version of the task.
std::string table_key(const BestKernel& best) {
  return best.run.info.target.objective + '\n' + bindings_text(best.run.info.target.options) + '\n' +
         best.elite.task_hash;
}

/// The first row is the headings. A column without a figure is left out.
std::string table_of(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto is_filled = [&](const std::vector<std::string>& one) { return !one[i].empty(); };
      if (std::any_of(rows.begin() + 1, rows.end(), is_filled)) kept.push_back(row[i]);
    }
    text += text.empty() ? markdown_heading_row(kept) : markdown_row(kept);
  }
  return text;
}

std::string kernels_table(const std::vector<BestKernel>& kernels) {
  const BestKernel& first = kernels.front();
  std::vector<std::vector<std::string>> rows = {
      {fmt::format("{}", fmt::join(first.task.shape_parameters, ",")), timing_word(first.elite.modelled) + " us",
       "95 % interval", "error", "largest error", "time of the best rival over it", "bound by", "found as", "on"}};
  for (const BestKernel& best : kernels) {
    rows.push_back({shapes_label(best), "**" + microseconds(best.elite.latency_us) + "**", interval_text(best.elite),
                    error_figure(error_beside_rivals(best.task, best.candidate, best.run)),
                    error_figure(best.elite.worst_relative_l2), rival_label(best), bound_label(best),
                    search_label(best) + ", " + best.candidate.op, best.run.started_at.substr(0, 10)});
  }
  return table_of(rows);
}

std::string genomes_list(const std::vector<BestKernel>& kernels) {
  std::string text = "\nTheir genomes:\n\n";
  for (const BestKernel& best : kernels)
    text += wrapped(fmt::format("- {}: {}", shapes_label(best), to_text(best.elite.genome)), 2);
  return text;
}

/// Every candidate of these rankings that was timed with rivals, not only the best.
std::string rivals_text(const std::vector<BestKernel>& kernels, const std::vector<SittingReport>& sittings) {
  std::string text;
  for (const BestKernel& best : kernels) {
    for (const SittingReport& report : sittings) {
      if (report.task == best.elite.task && report.objective == best.elite.objective &&
          device_key(report.sitting.device) == device_key(best.elite.device))
        text += fmt::format("\n**{}.** {}", shapes_label(best), sitting_markdown(report));
    }
  }
  return text.empty() ? text : "\n### Beside rivals\n" + text;
}

/// The search of a table's kernels as a command, on lines that a shell joins.
std::string command_lines(const BestKernel& best) {
  const EliteRow& elite = best.elite;
  std::vector<std::string> words = {"evo run", "--task " + elite.task,
                                    "--device " + (elite.modelled ? elite.device.id : elite.device.kind + ":0"),
                                    "--objective " + best.run.info.target.objective};
  for (const auto& [name, value] : best.run.info.target.options)
    words.push_back(fmt::format("--option {}={}", name, expr::to_string(value)));
  words.insert(words.end(), {"--shapes SHAPE", "--seed SEED", "--time TIME"});
  std::string lines, line;
  for (const std::string& word : words) {
    if (line.size() + word.size() + 3 > kMarkdownColumns) {
      lines += line + " \\\n";
      line = "   ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + '\n';
}

std::string objective_section(const std::vector<BestKernel>& kernels, const std::vector<SittingReport>& sittings) {
  const BestKernel& first = kernels.front();
  const std::string options = bindings_text(first.run.info.target.options);
  std::string text =
      fmt::format("\n## {}{}{}\n", first.run.info.target.objective, options.empty() ? "" : ", ", options);
  if (!first.elite.current) text += "\nOf an older version of the task, which has changed since.\n";
  text += "\n```\n" + command_lines(first) + "```\n\n";
  return text + kernels_table(kernels) + genomes_list(kernels) + rivals_text(kernels, sittings);
}

/// The options of `those` that `others` lack.
std::string options_beyond(const std::string& those, const std::string& others) {
  const std::vector<std::string> known = split(others, ' ');
  std::vector<std::string> beyond = split(those, ' ');
  std::erase_if(beyond, [&](const std::string& option) { return std::ranges::find(known, option) != known.end(); });
  return fmt::format("{}", fmt::join(beyond, " "));
}

/// Pictures of latency over error for the shapes that leave a choice, and the lines that show them.
std::string fronts_section(const Store& store, const Task& task, const DeviceRecord& device, ResultsPage& page) {
  FrontFilter filter{.task = task.name, .device = device.name, .regime = task.regimes.front().name};
  std::string text, options, first_options;
  for (Front& front : pareto_fronts(store, filter)) {
    if (front.device != device.name) continue;
    const bool choice = std::ranges::count(front.candidates, true, &FrontPoint::on_front) > 1 || !front.rivals.empty();
    const auto exact = [](const FrontPoint& point) { return point.error == 0; };
    if (!choice || std::ranges::all_of(front.candidates, exact)) continue;
    std::string stem = file_stem(task.name + " " + front.shape);
    const auto file = [&] { return fmt::format("{}/{}.svg", kPicturesFolder, stem); };
    const auto taken = [&](const ResultsPicture& one) { return one.file == file(); };
    if (first_options.empty()) first_options = front.options;
    if (std::ranges::any_of(page.pictures, taken))
      stem += "_" + file_stem(options_beyond(front.options, first_options));
    if (front.options != options) text += '\n' + wrapped(front.options + ":");
    options = front.options;
    text += fmt::format("\n![latency over error, {}]({})\n", front.shape, file());
    page.pictures.push_back({file(), front_svg({std::move(front)}, filter.regime)});
  }
  if (text.empty()) return text;
  return fmt::format("\n## Latency over error\n\nAll right kernels of all objectives; errors in the regime {}.\n{}",
                     filter.regime, text);
}

std::string introduction(const std::vector<BestKernel>& kernels) {
  const DeviceRecord& device = kernels.front().elite.device;
  std::set<std::string> days, programs, drivers;
  for (const BestKernel& best : kernels) {
    days.insert(best.run.started_at.substr(0, 10));
    programs.insert(fmt::format("evo {} with NVRTC {}", best.run.info.evo_version, best.run.info.nvrtc_version));
    if (!best.run.info.device.driver.empty()) drivers.insert(best.run.info.device.driver);
  }
  std::string facts = fmt::format("Runs of {}", *days.begin());
  if (days.size() > 1) facts += fmt::format(" to {}", *days.rbegin());
  facts += fmt::format(", {}", fmt::join(programs, ", "));
  if (!drivers.empty()) facts += fmt::format(", driver {}", fmt::join(drivers, ", "));
  const std::string_view timing = kernels.front().elite.modelled ? kModelledPage : kMeasuredPage;
  return fmt::format("# {}: the fastest kernels on {}\n{}\n{}\n{}{}", kernels.front().elite.task, device.name,
                     kResultsMark, wrapped(fmt::format("{} {}.", kWhatIsShown, facts)), wrapped(timing),
                     wrapped(kColumnNotes));
}

/// `kernels`: of one task and model of device.
ResultsPage page_of(const Store& store, const std::vector<BestKernel>& kernels,
                    const std::vector<SittingReport>& sittings) {
  const EliteRow& first = kernels.front().elite;
  ResultsPage page{.folder = file_stem(first.device.name),
                   .file = file_stem(first.task) + ".md",
                   .markdown = introduction(kernels),
                   .pictures = {}};
  std::map<std::string, std::vector<BestKernel>> tables;  // By key.
  for (const BestKernel& best : kernels) tables[table_key(best)].push_back(best);
  for (auto& [key, table] : tables) {
    std::ranges::stable_sort(table, {}, [](const BestKernel& best) { return best.elite.latency_us; });
    page.markdown += objective_section(table, sittings);
  }
  page.markdown += fronts_section(store, kernels.front().task, first.device, page);
  return page;
}

}  // namespace

std::vector<ResultsPage> results_pages(const Store& store, const EliteFilter& filter, bool former) {
  std::map<std::pair<std::string, std::string>, std::vector<BestKernel>> by_page;  // Device and task.
  for (const EliteRow& elite : find_elites(store, filter)) {
    if (elite.rank == 1 && (elite.current || former))
      by_page[{elite.device.name, elite.task}].push_back(best_kernel(store, elite));
  }
  const std::vector<SittingReport> sittings = newest_sittings(store, {.task = filter.task});
  std::vector<ResultsPage> pages;
  for (const auto& [of, kernels] : by_page) pages.push_back(page_of(store, kernels, sittings));
  return pages;
}

}  // namespace evo::cli
