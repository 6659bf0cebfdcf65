#include "cli/text/scatter_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "cli/text/svg_text.h"

namespace evo::cli {
namespace {

constexpr double kSize = 420;     // of a plot, in pixels
constexpr double kPlotLeft = 52;  // margins of the square in it
constexpr double kPlotTop = 34;
constexpr double kPlotRight = 14;
constexpr double kPlotBottom = 46;
constexpr double kLegendWidth = 220;  // right of the plot
constexpr double kLegendLine = 17;
constexpr std::array kSeriesColours = {"#0b62a4", "#d1495b", "#3a7d44", "#8a5fb0", "#d98324",
                                       "#5f6b73", "#17a2b8", "#b8336a", "#7a5c2e", "#111111"};

/// The values that an axis shows.
class Range {
 public:
  void include(double value) {
    low_ = std::min(low_, value / kMargin);
    high_ = std::max(high_, value * kMargin);
  }
  void include(const Range& other) {
    low_ = std::min(low_, other.low_);
    high_ = std::max(high_, other.high_);
  }

  double low() const { return low_; }
  double high() const { return high_; }
  double share(double value) const { return std::log(value / low_) / std::log(high_ / low_); }

  /// 1, 2 and 5 times the powers of ten.
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        if (digit * power >= low_ && digit * power <= high_) ticks.push_back(digit * power);
      }
    }
    return ticks;
  }

 private:
  static constexpr double kMargin = 1.1;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = 0;
};

/// Maps values to pixels.
struct PlotScale {
  Range across, up;

  PlotScale(const ScatterPlot& plot, bool same_scale) {
    for (const PointSeries& series : plot.series) {
      for (const auto& point : series.points) {
        across.include(point.x);
        up.include(point.y);
      }
    }
    if (!same_scale) return;
    across.include(up);
    up = across;
  }

  double x(double value) const { return kPlotLeft + across.share(value) * (kSize - kPlotLeft - kPlotRight); }
  double y(double value) const { return kSize - kPlotBottom - up.share(value) * (kSize - kPlotTop - kPlotBottom); }
};

std::string axes_svg(const PlotScale& scale, const ScatterAxes& axes) {
  std::string svg;
  const auto out = std::back_inserter(svg);
  for (const double tick : scale.across.ticks()) {
    fmt::format_to(out, "<path d='M{:.1f} {}V{}' stroke='#ddd'/>", scale.x(tick), kPlotTop, kSize - kPlotBottom);
    fmt::format_to(out, "<text x='{:.1f}' y='{}' text-anchor='middle'>{:g}</text>", scale.x(tick),
                   kSize - kPlotBottom + 15, tick);
  }
  for (const double tick : scale.up.ticks()) {
    fmt::format_to(out, "<path d='M{} {:.1f}H{}' stroke='#ddd'/>", kPlotLeft, scale.y(tick), kSize - kPlotRight);
    fmt::format_to(out, "<text x='{}' y='{:.1f}' text-anchor='end'>{:g}</text>", kPlotLeft - 5, scale.y(tick) + 4,
                   tick);
  }
  if (axes.same_scale) {
    const double low = scale.across.low(), high = scale.across.high();
    fmt::format_to(out, "<path d='M{:.1f} {:.1f}L{:.1f} {:.1f}' stroke='#888' stroke-dasharray='4 3'/>", scale.x(low),
                   scale.y(low), scale.x(high), scale.y(high));
  }
  const double middle_x = (kPlotLeft + kSize - kPlotRight) / 2, middle_y = (kPlotTop + kSize - kPlotBottom) / 2;
  fmt::format_to(out, "<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>", middle_x, kSize - 10,
                 svg_text(axes.x_label));
  fmt::format_to(out, "<text transform='translate(14,{:.1f}) rotate(-90)' text-anchor='middle'>{}</text>", middle_y,
                 svg_text(axes.y_label));
  return svg;
}

std::string steps_svg(const PointSeries& series, const PlotScale& scale, const char* colour) {
  std::string path;
  for (const auto& point : series.points) {
    const double x = scale.x(point.x), y = scale.y(point.y);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, y) : fmt::format("V{:.1f}H{:.1f}", y, x);
  }
  return fmt::format("<path fill='none' stroke='{}' d='{}'/>", colour, path);
}

std::string marks_svg(const PointSeries& series, const PlotScale& scale, const char* colour) {
  std::string svg;
  const auto out = std::back_inserter(svg);
  if (series.ringed) {
    for (const auto& point : series.points)
      fmt::format_to(out, "<circle cx='{:.1f}' cy='{:.1f}' r='5' fill='none' stroke='{}' stroke-width='2'/>",
                     scale.x(point.x), scale.y(point.y), colour);
    return svg;
  }
  // One path of round dots: a point is a line of no length.
  fmt::format_to(out, "<path fill='none' stroke='{}' stroke-opacity='0.6' stroke-width='4' stroke-linecap='round' d='",
                 colour);
  for (const auto& point : series.points) fmt::format_to(out, "M{:.1f} {:.1f}h0", scale.x(point.x), scale.y(point.y));
  return svg + "'/>";
}

std::string legend_svg(const PointSeries& series, const char* colour, double y) {
  constexpr double kMark = kSize + 2;
  const std::string mark = series.ringed
                               ? fmt::format("<circle cx='{}' cy='{}' r='5' fill='none' stroke='{}' stroke-width='2'/>",
                                             kMark, y - 4, colour)
                               : fmt::format("<circle cx='{}' cy='{}' r='3' fill='{}'/>", kMark, y - 4, colour);
  return fmt::format("{}<text x='{}' y='{}'>{}</text>", mark, kMark + 11, y,
                     svg_text(series.note.empty() ? series.name : series.name + ": " + series.note));
}

std::string plot_svg(const ScatterPlot& plot, const std::vector<std::string>& names, const ScatterAxes& axes) {
  const PlotScale scale(plot, axes.same_scale);
  std::string svg = fmt::format("<text x='{}' y='18' font-weight='bold'>{}</text>", kPlotLeft, svg_text(plot.title));
  svg += axes_svg(scale, axes);
  double legend_y = kPlotTop + 12;
  for (const PointSeries& series : plot.series) {
    const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), series.name) - names.begin());
    const char* colour = kSeriesColours[place % kSeriesColours.size()];
    svg += marks_svg(series, scale, colour) + legend_svg(series, colour, legend_y);
    if (series.stepped) svg += steps_svg(series, scale, colour);
    legend_y += kLegendLine;
  }
  return svg;
}

}  // namespace

std::string scatter_svg(const std::vector<ScatterPlot>& plots, const ScatterAxes& axes) {
  std::vector<std::string> names;
  for (const ScatterPlot& plot : plots) {
    for (const PointSeries& series : plot.series) {
      if (std::find(names.begin(), names.end(), series.name) == names.end()) names.push_back(series.name);
    }
  }
  std::string svg;
  for (std::size_t i = 0; i < plots.size(); ++i)
    svg += fmt::format("<g transform='translate({},0)'>{}</g>\n", (kSize + kLegendWidth) * static_cast<double>(i),
                       plot_svg(plots[i], names, axes));
  return svg_document((kSize + kLegendWidth) * static_cast<double>(plots.size()), kSize, svg);
}

}  // namespace evo::cli
