#include "cli/subject/elite_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/sources/shadowing.h"
#include "cli/subject/lookup.h"
#include "cli/subject/self_consistency.h"
#include "cli/text/format.h"
#include "cli/text/table.h"

namespace evo::cli {
namespace {

/// The shapes that get a column of their own: all, when the objective is the geometric mean over several shapes. A
/// single shape gets none, because its latency is the objective.
std::vector<std::string> timed_shapes(const std::vector<EliteRow>& rows) {
  std::vector<std::string> shapes;
  if (rows.empty()) return shapes;
  for (const Timing& timing : rows.front().timings) {
    if (!timing.cold) shapes.push_back(timing.shape);
  }
  return shapes.size() > 1 ? shapes : std::vector<std::string>();
}

std::string warm_latency(const EliteRow& row, const std::string& shape) {
  for (const Timing& timing : row.timings) {
    if (!timing.cold && timing.shape == shape) return microseconds(timing.median_us);
  }
  return "-";
}

/// The genes that all elites of a family share, for the families of several elites.
std::map<std::string, Bindings> shared_genes(const std::vector<EliteRow>& rows) {
  std::map<std::string, std::vector<const Genome*>> families;
  for (const EliteRow& row : rows) families[row.genome.family].push_back(&row.genome);
  std::map<std::string, Bindings> shared;
  for (const auto& [family, genomes] : families) {
    if (genomes.size() < 2) continue;
    Bindings& genes = shared[family] = genomes.front()->genes;
    for (const Genome* genome : genomes) {
      std::erase_if(genes, [&](const auto& gene) {
        const auto found = genome->genes.find(gene.first);
        return found == genome->genes.end() || found->second != gene.second;
      });
    }
  }
  return shared;
}

Genome without(Genome genome, const Bindings& genes) {
  std::erase_if(genome.genes, [&](const auto& gene) { return genes.contains(gene.first); });
  return genome;
}

}  // namespace

std::string elite_heading(const EliteRow& row) {
  const std::string shadowing = shadowing_remark(row.task, row.task_hash);
  return fmt::format("{} on {} ({}, {}): {}{}{}{}", row.task, row.device.id, row.device.name, timing_word(row.modelled),
                     row.objective, row.self_consistent ? fmt::format("  [{}]", kSelfConsistentOnly) : "",
                     row.current ? "" : "  [the task has changed since]",
                     shadowing.empty() ? "" : fmt::format("  [{}]", shadowing));
}

std::string interval_text(const EliteRow& row) {
  if (row.modelled || !timed_shapes({row}).empty()) return "";
  for (const Timing& timing : row.timings) {
    if (!timing.cold && timing.low_us < timing.high_us)
      return fmt::format("{} to {}", microseconds(timing.low_us), microseconds(timing.high_us));
  }
  return "";
}

/// A line for each elite that is not checked.
std::string reservations_text(const std::vector<EliteRow>& rows, const Terminal& terminal) {
  std::string text;
  for (const EliteRow& row : rows) {
    const std::string reservation = reservation_about(row.checks);
    if (!reservation.empty())
      text +=
          styled(terminal, Style::warning, fmt::format("  candidate {}: {}", row.candidate, one_line(reservation))) +
          "\n";
  }
  return text;
}

std::string elite_table(const std::vector<EliteRow>& rows, const Terminal& terminal) {
  const std::string unit = rows.empty() ? "latency us" : fmt::format("{} us", timing_word(rows.front().modelled));
  std::vector<std::string> columns = {">rank", ">id", ">" + unit};
  const std::vector<std::string> shapes = timed_shapes(rows);
  for (const std::string& shape : shapes) columns.push_back(">" + shape);
  const bool has_intervals = std::ranges::any_of(rows, [](const EliteRow& row) { return !interval_text(row).empty(); });
  if (has_intervals) columns.push_back("95 % interval");
  columns.insert(columns.end(), {">error", ">registers"});
  // Genes that make no difference: one genome stands for several.
  const bool stands_for_more = std::ranges::any_of(rows, [](const EliteRow& row) { return row.genomes > 1; });
  if (stands_for_more) columns.push_back(">genomes");
  columns.push_back("genome");
  std::map<std::string, Bindings> shared = shared_genes(rows);
  Table table(columns);
  for (const EliteRow& row : rows) {
    std::vector<std::string> cells = {std::to_string(row.rank), std::to_string(row.candidate),
                                      microseconds(row.latency_us)};
    for (const std::string& shape : shapes) cells.push_back(warm_latency(row, shape));
    if (has_intervals) cells.push_back(interval_text(row));
    cells.insert(cells.end(), {error_figure(row.worst_relative_l2), std::to_string(row.registers)});
    if (stands_for_more) cells.push_back(std::to_string(row.genomes));
    cells.push_back(to_text(without(row.genome, shared[row.genome.family])));
    table.add(cells, row.rank == 1 ? Style::good : Style::plain);
  }
  Table rest({"", ""});
  for (const auto& [family, genes] : shared)
    if (!genes.empty()) rest.add({"all " + family, bindings_text(genes)});
  return table.text(terminal, 2) + rest.text(terminal, 2) + reservations_text(rows, terminal);
}

std::string front_text(const std::vector<EliteRow>& rows, const Terminal& terminal) {
  if (rows.empty()) return "";
  return styled(terminal, Style::bold, "the front of latency over error") + "\n" + elite_table(rows, terminal) + "\n";
}

std::vector<std::vector<EliteRow>> by_key(const std::vector<EliteRow>& rows) {
  std::vector<std::vector<EliteRow>> groups;
  for (const EliteRow& row : rows) {
    if (groups.empty() || !of_one_board(groups.back().front(), row)) groups.emplace_back();
    groups.back().push_back(row);
  }
  return groups;
}

}  // namespace evo::cli
