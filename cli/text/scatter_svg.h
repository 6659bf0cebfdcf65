#pragma once

#include <string>
#include <vector>

namespace evo::cli {

/// Points of one kind in a plot.
struct PointSeries {
  std::string name;
  std::string note;  ///< Behind the name.
  struct Point {
    double x = 0;
    double y = 0;
  };
  std::vector<Point> points;  ///< Positive.
};

struct ScatterPlot {
  std::string title;
  std::vector<PointSeries> series;
};

/// An SVG document of plots side by side, each with the same logarithmic scale on both axes and the line
/// where they are equal. A series' name has the same colour in all plots.
std::string scatter_svg(const std::vector<ScatterPlot>& plots, const std::string& x_label, const std::string& y_label);

}  // namespace evo::cli
