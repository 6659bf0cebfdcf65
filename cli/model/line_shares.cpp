#include "cli/model/line_shares.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "engine/base/error.h"

namespace evo::cli {
namespace {

/// What counters say of the launches of a kernel at a shape, in microseconds; empty: they were not read.
std::optional<double> counted_us(const std::vector<Profile>& profiles, const std::string& shape,
                                 const std::string& kernel) {
  for (const Profile& profile : profiles) {
    if (profile.modelled || profile.shape != shape) continue;
    std::vector<LaunchProfile> launches;
    for (const LaunchProfile& launch : profile.launches)
      if (launch.kernel == kernel) launches.push_back(launch);
    if (const double us = duration_us(launches); us > 0) return us;
  }
  return std::nullopt;
}

}  // namespace

LineShares::LineShares(const Task& task, const Target& target, const DeviceInfo& device)
    : task_(task), target_(target), device_(device) {}

std::map<std::uint32_t, double> LineShares::of(const Candidate& candidate, const std::vector<Profile>& profiles) {
  std::map<std::uint32_t, double> shares;
  const auto shape = std::ranges::find_if(target_.timed, [&](const Shape& each) {
    return program_for(candidate, each.name) == std::optional<std::size_t>(0);
  });
  if (shape == target_.timed.end()) return shares;
  try {
    if (!modeller_) modeller_ = std::make_unique<Modeller>(task_, target_, device_);
    const auto modelled = modeller_->model(candidate, *shape);
    const auto* cost = std::get_if<Modelled>(&modelled);
    if (cost == nullptr) return shares;
    double all = 0;
    for (const vgpu::LaunchCost& launch : cost->cost.launches) {
      const double us = counted_us(profiles, shape->name, launch.kernel).value_or(launch.latency_us);
      for (const auto& [line, stalls] : launch.line_stalls)
        shares[line] += std::accumulate(stalls.begin(), stalls.end(), 0.0) * us;
      all += us;
    }
    for (auto& [line, share] : shares) share /= std::max(all, 1e-9);
  } catch (const Error&) {
    shares.clear();  // No compiler, or a kernel that the virtual GPU does not run: nothing is known.
  }
  return shares;
}

}  // namespace evo::cli
