#include "cli/report/until.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "cli/report/floor_share.h"
#include "cli/run/run_summary.h"
#include "cli/subject/arguments.h"
#include "engine/base/error.h"
#include "engine/base/mean.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

/// "1.1x torch": so many times as fast as that rival.
struct TimesRival {
  double times = 0;
  std::string rival;
};

std::optional<double> positive(std::string_view text) {
  const std::optional<double> number = number_in<double>(text);
  return number && std::isfinite(*number) && *number > 0 ? number : std::nullopt;
}

std::optional<double> share_of_floor(const std::string& text) {
  if (!text.ends_with('%')) return std::nullopt;
  const std::optional<double> percent = positive(std::string_view(text).substr(0, text.size() - 1));
  return percent && *percent <= 100 ? std::optional(*percent / 100) : std::nullopt;
}

std::optional<TimesRival> times_rival(const std::string& text) {
  const std::size_t x = text.find("x ");
  if (x == std::string::npos || x + 2 == text.size()) return std::nullopt;
  const std::optional<double> times = positive(std::string_view(text).substr(0, x));
  return times ? std::optional(TimesRival{*times, text.substr(x + 2)}) : std::nullopt;
}

double floor_us(const std::string& text, const PreparedRun& run) {
  const std::optional<DeviceInfo> rates = rates_of(run.info.device);
  std::vector<double> floors;
  if (rates)
    for (const ShapeShare& share : shares_of(run.task, run.info.target, *rates, {})) floors.push_back(share.floor.us());
  const double mean = floors.empty() ? 0 : geometric_mean(floors);
  if (mean > 0) return mean;
  throw usage_error(fmt::format("--until {}: no floor of {} is known on {}", text, run.task.name, run.device.name));
}

std::vector<std::string> timed_names(const Target& target) {
  std::vector<std::string> names;
  for (const Shape& shape : target.timed) names.push_back(shape.name);
  return names;
}

/// Rivals compute the same under every objective.
bool is_about(const RunInfo& sat, const RunInfo& wanted) {
  return sat.task_hash == wanted.task_hash && timed_names(sat.target) == timed_names(wanted.target) &&
         sat.target.options == wanted.target.options;
}

double rival_us(const std::string& text, const std::string& name, const PreparedRun& run, const std::string& database) {
  std::set<std::string> others;
  if (std::filesystem::exists(database)) {
    // One of an older evo is brought up to date.
    const Store store = Store::open(database, Store::Mode::change);
    for (const Sitting& sitting : store.sittings()) {
      const std::optional<RunRow> sat = store.run(sitting.run);
      if (!sat || !is_about(sat->info, run.info) || device_key(sitting.device) != device_key(run.info.device)) continue;
      for (const RivalResult& rival : sitting.rivals) {
        if (rival.verdict != Verdict::valid || !rival.median_us) continue;
        if (rival.name == name) return *rival.median_us;
        others.insert(rival.name);
      }
    }
  }
  const std::string there =
      others.empty() ? "" : fmt::format("; there is one of {}", list_of({others.begin(), others.end()}));
  throw usage_error(fmt::format("--until {}: no baseline of {} for {} at {} on {} is stored{}: run evo baseline{}",
                                text, name, run.task.name, fmt::join(timed_names(run.info.target), ","),
                                run.device.name, there, database_argument(database)));
}

}  // namespace

std::optional<double> latency_of_until(const std::string& text, const PreparedRun& run, const std::string& database) {
  if (text.empty()) return std::nullopt;
  if (const std::optional<double> share = share_of_floor(text)) return floor_us(text, run) / *share;
  if (const std::optional<TimesRival> wanted = times_rival(text))
    return rival_us(text, wanted->rival, run, database) / wanted->times;
  if (text.ends_with('%') || text.find("x ") != std::string::npos)
    throw usage_error(fmt::format("--until {}: expected a share of the floor like 95%, or '1.1x RIVAL'", text));
  return parse_latency("--until", text);
}

}  // namespace evo::cli
