#include "cli/check/feasible_shapes.h"

#include <fmt/format.h>

#include <string>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"

namespace evo::cli {
namespace {

/// Of the work of a held-out shape's case, which takes a virtual GPU a tenth of a second where a kernel uses tensor
/// cores. References do not: twice this, `decode` of fp8_attention, none answered in nine minutes (two cores, November
/// 2026).
constexpr double kMostHeldOut = 40;

}  // namespace

void require_feasible(const Task& task, const Target& target, std::string_view device_kind) {
  const DeviceKind& kind = kind_named(device_kind);
  if (!kind.on_host || kind.held_out_work <= 0) return;
  const double most = kMostHeldOut * kind.held_out_work;
  for (const auto* shapes : {&target.timed, &target.validated}) {
    for (const Shape& shape : *shapes) {
      const double work = work_of(task, target.options, shape, kind);
      if (work <= most) continue;
      const auto set = task.shape_sets.find(kind.name);
      const std::string instead =
          set == task.shape_sets.end() || set->second.timed.empty() ? "" : ", such as " + set->second.timed.front();
      throw usage_error(
          fmt::format("shape {} is too much work for {}: {:.1f} times what a case may be; name a smaller "
                      "one{}, or a GPU with --device",
                      shape.name, kind.title, work / most, instead));
    }
  }
}

}  // namespace evo::cli
