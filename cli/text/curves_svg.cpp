#include "cli/text/curves_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/text/svg_text.h"

namespace evo::cli {
namespace {

constexpr double kPanelWidth = 460;  // of a panel, in pixels
constexpr double kHeight = 300;
constexpr double kPanelLeft = 48;  // margins of the plot in its panel
constexpr double kPanelTop = 34;
constexpr double kPanelRight = 14;
constexpr double kPanelBottom = 40;
constexpr std::size_t kColumns = 2;
constexpr std::size_t kFirstShown = 10;  // the scale is chosen for the curves from this evaluation on
constexpr std::array kCurveColours = {"#0b62a4", "#d1495b", "#3a7d44", "#8a5fb0",
                                      "#d98324", "#5f6b73", "#1b9aaa", "#a23b72"};

/// Maps the values of one panel to pixels.
class PanelScale {
 public:
  explicit PanelScale(const Panel& panel) {
    double highest = 1.02;
    for (const NamedCurve& named : panel.curves) {
      evaluations_ = std::max(evaluations_, named.curve.mean.size());
      if (named.curve.mean.size() >= kFirstShown) highest = std::max(highest, named.curve.mean[kFirstShown - 1]);
    }
    top_ = highest;
  }

  double top() const { return top_; }
  std::size_t evaluations() const { return evaluations_; }
  double x(double evaluation) const {
    const double last = std::max<double>(2, static_cast<double>(evaluations_));
    return kPanelLeft + (evaluation - 1) / (last - 1) * (kPanelWidth - kPanelLeft - kPanelRight);
  }
  double y(double ratio) const {
    const double share = std::min(1.0, (ratio - 1) / (top_ - 1));
    return kHeight - kPanelBottom - share * (kHeight - kPanelTop - kPanelBottom);
  }

 private:
  std::size_t evaluations_ = 0;
  double top_ = 1;
};

std::string points(const PanelScale& scale, const std::vector<double>& ratios) {
  std::string text;
  for (std::size_t i = 0; i < ratios.size(); ++i)
    text += fmt::format("{:.1f},{:.1f} ", scale.x(static_cast<double>(i + 1)), scale.y(ratios[i]));
  return text;
}

std::string points_reversed(const PanelScale& scale, const std::vector<double>& ratios) {
  std::string text;
  for (std::size_t i = ratios.size(); i-- > 0;)
    text += fmt::format("{:.1f},{:.1f} ", scale.x(static_cast<double>(i + 1)), scale.y(ratios[i]));
  return text;
}

std::string axes(const PanelScale& scale) {
  constexpr int kTicks = 4;
  std::string svg;
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    const double ratio = 1 + share * (scale.top() - 1);
    const double evaluation = 1 + share * (static_cast<double>(scale.evaluations()) - 1);
    svg += fmt::format("<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' stroke='#ddd'/>", kPanelLeft,
                       kPanelWidth - kPanelRight, scale.y(ratio), scale.y(ratio));
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{:.2f}</text>", kPanelLeft - 5, scale.y(ratio) + 4,
                       ratio);
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.0f}</text>", scale.x(evaluation),
                       kHeight - kPanelBottom + 16, evaluation);
  }
  svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>evaluations</text>",
                     (kPanelLeft + kPanelWidth - kPanelRight) / 2, kHeight - 8);
  return svg;
}

std::string panel_svg(const Panel& panel, const std::vector<std::string>& names) {
  const PanelScale scale(panel);
  std::string svg = fmt::format("<text x='{}' y='18' font-weight='bold'>{} (best / optimum)</text>", kPanelLeft,
                                svg_text(panel.title));
  svg += axes(scale);
  double legend_y = kPanelTop + 10;
  for (const NamedCurve& named : panel.curves) {
    const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), named.name) - names.begin());
    const char* colour = kCurveColours[place % kCurveColours.size()];
    svg += fmt::format("<polygon points='{}{}' fill='{}' fill-opacity='0.12'/>", points(scale, named.curve.low),
                       points_reversed(scale, named.curve.high), colour);
    svg += fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='1.8'/>",
                       points(scale, named.curve.mean), colour);
    svg += fmt::format("<text x='{}' y='{}' text-anchor='end' fill='{}'>{}</text>", kPanelWidth - kPanelRight - 4,
                       legend_y, colour, svg_text(named.name));
    legend_y += 14;
  }
  return svg;
}

}  // namespace

std::string curves_svg(const std::vector<Panel>& panels) {
  std::vector<std::string> names;
  for (const Panel& panel : panels) {
    for (const NamedCurve& named : panel.curves) {
      if (std::find(names.begin(), names.end(), named.name) == names.end()) names.push_back(named.name);
    }
  }
  const std::size_t columns = std::min(kColumns, panels.size());
  const std::size_t rows = (panels.size() + kColumns - 1) / kColumns;
  std::string svg;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t row = i / kColumns;
    svg += fmt::format("<g transform='translate({},{})'>{}</g>\n", kPanelWidth * static_cast<double>(i % kColumns),
                       kHeight * static_cast<double>(row), panel_svg(panels[i], names));
  }
  return svg_document(kPanelWidth * static_cast<double>(columns), kHeight * static_cast<double>(rows), svg);
}

}  // namespace evo::cli
