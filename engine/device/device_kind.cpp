#include "engine/device/device_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "engine/base/error.h"

namespace evo {
namespace {

/// A deque, because references to kinds outlive further registrations.
std::deque<DeviceKind>& registry() {
  static std::deque<DeviceKind> kinds;
  return kinds;
}

}  // namespace

void register_device_kind(DeviceKind kind) {
  const auto known = std::ranges::find(registry(), kind.name, &DeviceKind::name);
  if (known == registry().end()) {
    registry().push_back(std::move(kind));
  } else {
    *known = std::move(kind);
  }
}

const DeviceKind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(registry(), name, &DeviceKind::name);
  return found == registry().end() ? nullptr : &*found;
}

const DeviceKind& kind_named(std::string_view name) {
  if (const DeviceKind* kind = find_kind(name)) return *kind;
  throw usage_error(
      fmt::format("there is no kind of device '{}' (there are: {})", name, fmt::join(kind_names(), ", ")));
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const DeviceKind& kind : registry()) names.emplace_back(kind.name);
  return names;
}

}  // namespace evo
