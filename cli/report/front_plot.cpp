#include "cli/report/front_plot.h"

#include <fmt/format.h>

#include <map>

#include "cli/text/scatter_svg.h"

namespace evo::cli {
namespace {

ScatterPlot plot_of(const Front& front) {
  // The fastest first: the front errs less from point to point, and at each error it is as fast as the point before.
  PointSeries best{.name = "evo, the front", .note = "", .points = {}, .stepped = true};
  std::map<std::string, PointSeries> others, rivals;
  for (const FrontPoint& point : front.candidates) {
    if (point.error == 0) continue;
    if (point.on_front) best.points.push_back({point.error, point.latency_us});
    PointSeries& series = others[point.objective];
    series.name = "evo, " + point.objective;
    if (!point.on_front) series.points.push_back({point.error, point.latency_us});
  }
  for (const FrontPoint& rival : front.rivals) {
    if (rival.error == 0) continue;
    PointSeries& series = rivals[rival.name];
    series.name = rival.name;
    series.ringed = true;
    series.points.push_back({rival.error, rival.latency_us});
  }
  ScatterPlot plot{.title = fmt::format("{}, {}", front.shape, front.device), .series = {best}};
  for (const auto* group : {&others, &rivals})
    for (const auto& [name, series] : *group)
      if (!series.points.empty()) plot.series.push_back(series);
  return plot;
}

}  // namespace

std::string front_svg(const std::vector<Front>& fronts, const std::string& regime) {
  std::vector<ScatterPlot> plots;
  for (const Front& front : fronts) plots.push_back(plot_of(front));
  return scatter_svg(plots,
                     {.x_label = "relative L2 error, regime " + regime, .y_label = "latency, us", .same_scale = false});
}

}  // namespace evo::cli
