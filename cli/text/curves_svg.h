#pragma once

#include <string>
#include <vector>

#include "engine/replay/replay_report.h"

namespace evo::cli {

struct NamedCurve {
  std::string name;
  Curve curve;
};

/// The curves of one recorded space.
struct Panel {
  std::string title;
  std::vector<NamedCurve> curves;
};

/// An SVG document of convergence curves, one panel for each space: best/optimum (from 1 up) over
/// evaluations, the mean as a line and the middle half of the runs as a band. A name has the same colour in
/// all panels.
std::string curves_svg(const std::vector<Panel>& panels);

}  // namespace evo::cli
