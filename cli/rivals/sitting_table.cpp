#include "cli/rivals/sitting_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/subject/best_rival.h"
#include "cli/text/format.h"
#include "cli/text/markdown.h"
#include "cli/text/table.h"

namespace evo::cli {
namespace {

/// A program of a sitting, as a line of a table.
struct SittingLine {
  double us = std::numeric_limits<double>::infinity();
  bool candidate = false;
  std::vector<std::string> cells;  ///< Name, version, time, time over the candidate's, error, remark.
};

std::string remark_of(const RivalResult& rival) {
  if (rival.verdict == Verdict::valid) return rival.note;
  return fmt::format("{}{}: {}", rival.note.empty() ? "" : rival.note + "; ", name_of(rival.verdict), rival.reason);
}

std::string rival_ratio(const RivalResult& rival) {
  if (!rival.median_us) return "-";
  const std::string ratio = fmt::format("{:.3g}", rival.ratio);
  return rival.ratio_low < rival.ratio_high
             ? fmt::format("{} [{:.3g}, {:.3g}]", ratio, rival.ratio_low, rival.ratio_high)
             : ratio;
}

/// The fastest first; programs without a time last.
std::vector<SittingLine> lines_of(const SittingReport& report) {
  const Sitting& sitting = report.sitting;
  std::vector<SittingLine> lines;
  lines.push_back({sitting.median_us,
                   true,
                   {fmt::format("candidate {}", sitting.candidate), "evo " + sitting.evo_version,
                    microseconds(sitting.median_us), "1", error_figure(report.relative_l2), ""}});
  for (const RivalResult& rival : sitting.rivals) {
    lines.push_back(
        {rival.median_us.value_or(std::numeric_limits<double>::infinity()),
         false,
         {rival.name, rival.version, rival.median_us ? microseconds(*rival.median_us) : "-", rival_ratio(rival),
          rival.relative_l2 ? error_figure(*rival.relative_l2) : "-", remark_of(rival)}});
  }
  std::ranges::stable_sort(lines, {}, &SittingLine::us);
  return lines;
}

std::string time_heading(const SittingReport& report) {
  return timing_word(report.modelled) + " us";
}

/// "21 rounds in turns on 2026-11-26, driver 580.159.04"
std::string circumstances(const Sitting& sitting) {
  std::string text = fmt::format("{} round{} in turns on {}", sitting.rounds_us.size(),
                                 sitting.rounds_us.size() == 1 ? "" : "s", sitting.at.substr(0, 10));
  if (!sitting.device.driver.empty()) text += ", driver " + sitting.device.driver;
  if (sitting.throttled > 0) text += fmt::format(", {} samples under lowered clocks", sitting.throttled);
  return text;
}

std::string heading_of(const SittingReport& report) {
  return fmt::format("{} on {}: {}", report.task, report.sitting.device.name, report.objective);
}

}  // namespace

std::string sitting_text(const SittingReport& report, const Terminal& terminal) {
  Table table({"program", "version", ">" + time_heading(report), "over the candidate's", ">error", ""});
  for (const SittingLine& line : lines_of(report)) table.add(line.cells, line.candidate ? Style::good : Style::plain);
  const std::string best = best_rival_text(report.sitting);
  return styled(terminal, Style::bold, heading_of(report)) + '\n' + table.text(terminal, 2) +
         circumstances(report.sitting) + '\n' +
         (best.empty() ? "no rival gave a right answer\n"
                       : fmt::format("candidate {}: {}\n", report.sitting.candidate, best));
}

std::string sitting_markdown(const SittingReport& report) {
  std::string text = fmt::format("{}.\n\n", circumstances(report.sitting));
  text += markdown_heading_row({"program", "version", time_heading(report), "over the candidate's", "error", "remark"});
  for (SittingLine& line : lines_of(report)) {
    if (line.candidate) line.cells.front() = "**" + line.cells.front() + "**";
    text += markdown_row(line.cells);
  }
  return text;
}

std::string sittings_markdown(const std::vector<SittingReport>& reports) {
  std::string text, last;
  for (const SittingReport& report : reports) {
    const std::string heading = heading_of(report);
    if (heading != last) {
      const std::size_t name = report.objective.find(' ');
      text += fmt::format("{}## {} on {}: {}\n", text.empty() ? "" : "\n", report.task, report.sitting.device.name,
                          report.objective.substr(0, name));
      if (name != std::string::npos) text += '\n' + wrapped(report.objective.substr(name + 1));
    }
    last = heading;
    text += '\n' + sitting_markdown(report);
  }
  return text;
}

}  // namespace evo::cli
