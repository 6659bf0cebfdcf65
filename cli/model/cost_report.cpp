#include "cli/model/cost_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/table.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

using vgpu::LaunchCost;

/// Smaller shares get no line.
constexpr double kLeastShare = 0.005;
/// Of a launch's dearest lines that people see, and columns of their text.
constexpr std::size_t kShownLines = 10;
constexpr std::size_t kSourceColumns = 90;

/// A table with a line for each figure and a column for each launch.
class Columns {
 public:
  explicit Columns(const vgpu::PlanCost& cost) : cost_(cost) {
    std::vector<std::string> columns = {""};
    for (const LaunchCost& launch : cost.launches)
      columns.push_back(">" + (launch.kernel.empty() ? "kernel" : launch.kernel));
    table_ = Table(std::move(columns));
  }

  void add(std::string label, const std::function<std::string(const LaunchCost&)>& figure) {
    std::vector<std::string> cells = {std::move(label)};
    for (const LaunchCost& launch : cost_.launches) cells.push_back(figure(launch));
    table_.add(std::move(cells));
  }

  /// A line for each entry of one kind with a share that matters, the largest first.
  void add_shares(const std::string& kind, int count, const std::function<std::string_view(int)>& name,
                  const std::function<double(const LaunchCost&, int)>& share) {
    std::vector<std::pair<double, int>> order;
    for (int i = 0; i < count; ++i) {
      double largest = 0;
      for (const LaunchCost& launch : cost_.launches) largest = std::max(largest, share(launch, i));
      if (largest >= kLeastShare) order.emplace_back(-largest, i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [largest, i] : order)
      add(fmt::format("{} {}", kind, name(i)),
          [&, i = i](const LaunchCost& launch) { return percent(share(launch, i)); });
  }

  std::string text(const Terminal& terminal) const { return table_.text(terminal, 2); }

 private:
  const vgpu::PlanCost& cost_;
  Table table_{std::vector<std::string>{}};
};

std::string us(double value) {
  return fmt::format("{:.2f}", value);
}

/// A line of a source in which warps spend time.
struct DearLine {
  std::uint32_t line;  ///< From 1.
  double share;        ///< Of the time of all warps of the launch.
  LaunchCost::StallShares stalls;
  std::string text;
  std::string place;  ///< Of the template, "rms_norm/rows/kernel.cu:31"; empty: unknown.

  vgpu::Stall most() const { return static_cast<vgpu::Stall>(std::ranges::max_element(stalls) - stalls.begin()); }
};

std::vector<DearLine> dear_lines(const LaunchCost& cost, const Program& program) {
  const std::vector<std::string> source = split(program.source, '\n');
  std::vector<DearLine> found;
  for (const auto& [line, stalls] : cost.line_stalls) {
    const double share = std::accumulate(stalls.begin(), stalls.end(), 0.0);
    if (line == 0 || line > source.size() || share < kLeastShare) continue;
    const auto origin = program.lines.origin_of(line);
    found.push_back({line, share, stalls, std::string(trim(source[line - 1])),
                     origin ? fmt::format("{}:{}", origin->file, origin->line) : ""});
  }
  std::ranges::stable_sort(found, std::greater(), &DearLine::share);
  return found;
}

}  // namespace

std::string cost_text(const vgpu::PlanCost& cost, const Terminal& terminal) {
  Columns columns(cost);
  columns.add("latency, us", [](const LaunchCost& c) { return us(c.latency_us); });
  columns.add("  launch", [](const LaunchCost& c) { return us(c.launch_us); });
  columns.add("  busiest SM", [](const LaunchCost& c) { return us(c.sm_us); });
  columns.add("    blocks wait for each other", [](const LaunchCost& c) { return us(c.waiting_us); });
  columns.add("    may be off by", [](const LaunchCost& c) { return us(c.uncertain_us); });
  columns.add("    overlapped with the launch before", [](const LaunchCost& c) { return us(c.hidden_us); });
  columns.add("  least time for L2", [](const LaunchCost& c) { return us(c.l2_us); });
  columns.add("  least time for memory", [](const LaunchCost& c) { return us(c.memory_us); });
  columns.add("bound by", [](const LaunchCost& c) { return c.bound; });
  columns.add("blocks on an SM", [](const LaunchCost& c) { return std::to_string(c.blocks_per_sm); });
  columns.add("  limited by", [](const LaunchCost& c) { return std::string(c.occupancy_limit); });
  columns.add("  of its warps", [](const LaunchCost& c) { return percent(c.occupancy); });
  columns.add("waves", [](const LaunchCost& c) { return us(c.waves); });
  columns.add("instructions of a block", [](const LaunchCost& c) { return grouped(c.instructions_per_block); });
  columns.add("  a clock on an SM", [](const LaunchCost& c) { return us(c.instructions_per_clock); });
  columns.add("bytes of a block through L2", [](const LaunchCost& c) { return grouped(c.global_bytes_per_block); });
  columns.add("bank conflicts of a block", [](const LaunchCost& c) { return grouped(c.bank_conflicts_per_block); });
  columns.add_shares(
      "busy:", vgpu::kPipes, [](int i) { return name_of(static_cast<vgpu::Pipe>(i)); },
      [](const LaunchCost& c, int i) { return c.pipe_use[static_cast<std::size_t>(i)]; });
  columns.add_shares(
      "warps wait for:", vgpu::kStalls, [](int i) { return name_of(static_cast<vgpu::Stall>(i)); },
      [](const LaunchCost& c, int i) { return c.stall_share[static_cast<std::size_t>(i)]; });
  return columns.text(terminal);
}

Json cost_json(const LaunchCost& cost) {
  Json busy = Json::object(), stalls = Json::object();
  for (int i = 0; i < vgpu::kPipes; ++i)
    busy[std::string(name_of(static_cast<vgpu::Pipe>(i)))] = cost.pipe_use[static_cast<std::size_t>(i)];
  for (int i = 0; i < vgpu::kStalls; ++i)
    stalls[std::string(name_of(static_cast<vgpu::Stall>(i)))] = cost.stall_share[static_cast<std::size_t>(i)];
  return {{"latency_us", cost.latency_us},
          {"timing", "modelled"},
          {"bound", cost.bound},
          {"launch_us", cost.launch_us},
          {"sm_us", cost.sm_us},
          {"hidden_us", cost.hidden_us},
          {"waiting_us", cost.waiting_us},
          {"uncertain_us", cost.uncertain_us},
          {"l2_us", cost.l2_us},
          {"memory_us", cost.memory_us},
          {"occupancy", cost.occupancy},
          {"occupancy_limit", cost.occupancy_limit},
          {"blocks_per_sm", cost.blocks_per_sm},
          {"waves", cost.waves},
          {"instructions_per_block", cost.instructions_per_block},
          {"instructions_per_clock", cost.instructions_per_clock},
          {"bank_conflicts_per_block", cost.bank_conflicts_per_block},
          {"global_bytes_per_block", cost.global_bytes_per_block},
          {"busy", busy},
          {"stalls", stalls}};
}

std::string dear_lines_text(const LaunchCost& cost, const Program& program, const Terminal& terminal) {
  const std::vector<DearLine> lines = dear_lines(cost, program);
  if (lines.empty()) return "";
  Table table({">line", ">of the warps' time", "mostly waits for", "source"});
  for (std::size_t i = 0; i < std::min(lines.size(), kShownLines); ++i)
    table.add({std::to_string(lines[i].line), percent(lines[i].share), std::string(name_of(lines[i].most())),
               clipped(one_line(lines[i].text), kSourceColumns, "...")});
  return table.text(terminal, 2);
}

Json launch_cost_json(const LaunchCost& cost, const Program& program) {
  Json launch = cost_json(cost);
  launch["kernel"] = cost.kernel;
  Json& list = launch["lines"] = Json::array();
  for (const DearLine& line : dear_lines(cost, program)) {
    Json stalls = Json::object();
    for (std::size_t kind = 0; kind < line.stalls.size(); ++kind)
      if (line.stalls[kind] > 0) stalls[std::string(name_of(static_cast<vgpu::Stall>(kind)))] = line.stalls[kind];
    list.push_back(
        {{"line", line.line}, {"share", line.share}, {"stalls", stalls}, {"text", line.text}, {"place", line.place}});
  }
  return launch;
}

}  // namespace evo::cli
