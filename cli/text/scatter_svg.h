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
  bool stepped = false;       ///< Joined by steps, in order: along y to the next point's, then along x.
  bool ringed = false;        ///< Rings instead of dots: what the others are compared with.
};

struct ScatterPlot {
  std::string title;
  std::vector<PointSeries> series;
};

/// The two axes of every plot, both logarithmic.
struct ScatterAxes {
  std::string x_label, y_label;
  bool same_scale = true;  ///< And the line where they are equal; else each axis has a scale of its own.
};

/// An SVG document of plots side by side. A series' name has the same colour in all plots.
std::string scatter_svg(const std::vector<ScatterPlot>& plots, const ScatterAxes& axes);

}  // namespace evo::cli
