#include "cli/model/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/table.h"

namespace evo::cli {
namespace {

/// Warp states with smaller parts get no line.
constexpr double kLeastPercent = 1;

const LaunchProfile* launch_of(const Profile* profile, std::size_t number) {
  return profile != nullptr && number < profile->launches.size() ? &profile->launches[number] : nullptr;
}

std::string figure(const Counter& counter, double value) {
  switch (counter.unit) {
    case CounterUnit::nanoseconds:
      return fmt::format("{} us", microseconds(value * 1e-3));
    case CounterUnit::bytes:
      return fmt::format("{:.3g} MB", value * 1e-6);
    case CounterUnit::percent:
      return fmt::format("{:.1f} %", value);
    case CounterUnit::cycles:
    case CounterUnit::count:
      return grouped(static_cast<std::uint64_t>(std::llround(std::max(value, 0.0))));
    case CounterUnit::warps:
      break;
  }
  return fmt::format("{:.2f}", value);
}

/// The table of one launch. `launches`: as each source saw it, none null, in the order of the columns behind the first.
class LaunchTable {
 public:
  LaunchTable(const std::vector<std::string>& columns, std::vector<const LaunchProfile*> launches)
      : table_(columns), launches_(std::move(launches)) {}

  void add_counters() {
    for (const Counter& counter : counters()) {
      if (counter.group == CounterGroup::stall) continue;
      add(std::string(counter.title), std::string(counter.metric),
          [&](const LaunchProfile& launch) -> std::optional<std::string> {
            const std::optional<double> value = launch.value(counter.metric);
            return value ? std::optional(figure(counter, *value)) : std::nullopt;
          });
    }
  }

  /// In the order of the first source.
  void add_states() {
    std::vector<std::string_view> order;
    for (const LaunchProfile* launch : launches_) {
      for (const StallShare& share : stall_shares(*launch))
        if (share.percent >= kLeastPercent && std::ranges::find(order, share.state) == order.end())
          order.push_back(share.state);
    }
    for (const std::string_view state : order) {
      const auto counter = std::ranges::find_if(
          counters(), [&](const Counter& one) { return one.group == CounterGroup::stall && one.title == state; });
      add(fmt::format("warps: {}", state), std::string(counter->metric),
          [&](const LaunchProfile& launch) -> std::optional<std::string> {
            const std::vector<StallShare> shares = stall_shares(launch);
            const auto found = std::ranges::find(shares, state, &StallShare::state);
            return found == shares.end() ? std::nullopt : std::optional(fmt::format("{:.1f} %", found->percent));
          });
    }
  }

  std::string text(const Terminal& terminal) const { return table_.text(terminal, 2); }

 private:
  /// No line where nothing is known.
  void add(std::string title, std::string metric,
           const std::function<std::optional<std::string>(const LaunchProfile&)>& cell) {
    std::vector<std::string> cells = {std::move(title)};
    bool known = false;
    for (const LaunchProfile* launch : launches_) {
      const std::optional<std::string> text = cell(*launch);
      known = known || text;
      cells.push_back(text.value_or("-"));
    }
    cells.push_back(std::move(metric));
    if (known) table_.add(std::move(cells));
  }

  Table table_;
  std::vector<const LaunchProfile*> launches_;
};

std::size_t launch_count(const ShapeProfile& profile) {
  return std::max(profile.measured != nullptr ? profile.measured->launches.size() : 0,
                  profile.modelled != nullptr ? profile.modelled->launches.size() : 0);
}

Json launch_json(const LaunchProfile* launch) {
  if (launch == nullptr) return nullptr;
  Json counters = Json::object(), states = Json::object();
  for (const auto& [metric, value] : launch->values) counters[metric] = value;
  for (const StallShare& share : stall_shares(*launch)) states[std::string(share.state)] = share.percent;
  const Bound bound = bound_of(*launch);
  return {{"counters", counters},
          {"warp_states", states},
          {"bound",
           {{"by", bound.by_latency ? "latency" : std::string(bound.unit)},
            {"busiest", bound.unit},
            {"busy_percent", bound.busy_percent},
            {"in_words", in_words(bound)}}}};
}

}  // namespace

std::string profile_text(const ShapeProfile& profile, const Terminal& terminal) {
  std::string text;
  for (std::size_t i = 0; i < launch_count(profile); ++i) {
    const LaunchProfile* measured = launch_of(profile.measured, i);
    const LaunchProfile* modelled = launch_of(profile.modelled, i);
    std::vector<std::string> columns = {""};
    std::vector<const LaunchProfile*> launches;
    for (const auto& [launch, title] : {std::pair(measured, ">measured"), std::pair(modelled, ">modelled")}) {
      if (launch == nullptr) continue;
      columns.emplace_back(title);
      launches.push_back(launch);
    }
    columns.emplace_back("metric");
    text += fmt::format("\n{}\n", styled(terminal, Style::bold, launches.front()->kernel));
    LaunchTable table(columns, launches);
    table.add_counters();
    table.add_states();
    text += table.text(terminal);
    if (measured != nullptr) text += fmt::format("  measured: {}\n", in_words(bound_of(*measured)));
    if (modelled != nullptr) text += fmt::format("  modelled: {}\n", in_words(bound_of(*modelled)));
  }
  return text;
}

std::vector<ShapeProfile> by_shape(const std::vector<Profile>& profiles) {
  std::vector<ShapeProfile> shapes;
  for (const Profile& profile : profiles) {
    auto shape = std::ranges::find(shapes, profile.shape, &ShapeProfile::shape);
    if (shape == shapes.end()) shape = shapes.insert(shapes.end(), {profile.shape});
    (profile.modelled ? shape->modelled : shape->measured) = &profile;
  }
  return shapes;
}

std::string bounds_text(const std::vector<Profile>& profiles) {
  std::string text;
  for (const Profile& profile : profiles) {
    const std::string words = in_words(profile);
    if (!words.empty()) text += fmt::format("{}, {}: {}\n", profile.shape, timing_word(profile.modelled), words);
  }
  return text;
}

Json profiles_json(const std::vector<Profile>& profiles) {
  Json shapes = Json::array();
  for (const ShapeProfile& profile : by_shape(profiles)) {
    Json launches = Json::array();
    for (std::size_t i = 0; i < launch_count(profile); ++i) {
      const LaunchProfile* measured = launch_of(profile.measured, i);
      const LaunchProfile* modelled = launch_of(profile.modelled, i);
      launches.push_back({{"kernel", measured != nullptr ? measured->kernel : modelled->kernel},
                          {"measured", launch_json(measured)},
                          {"modelled", launch_json(modelled)}});
    }
    shapes.push_back({{"shape", profile.shape}, {"launches", launches}});
  }
  return shapes;
}

}  // namespace evo::cli
