#include "cli/run/device_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/format.h"
#include "engine/base/noticeable.h"
#include "engine/device/device_kind.h"

namespace evo::cli {
namespace {

/// With pairs that scatter by 1 % these rounds resolve a difference of 0.8 % with a confidence of 95 %.
constexpr int kSharedRounds = 9;

/// `timings`: by device, in the order of `devices`.
void set_ratios(const std::vector<DeviceInfo>& devices, const std::vector<InterleavedTimings>& timings,
                std::vector<DeviceShare>& shares) {
  for (std::size_t i = 1; i < devices.size(); ++i) {
    const auto share =
        std::ranges::find_if(shares, [&](const DeviceShare& one) { return one.place.uuid == devices[i].uuid; });
    if (share == shares.end()) continue;
    const auto& failure = timings[i].failures[0] ? timings[i].failures[0] : timings[0].failures[0];
    if (failure) {
      share->why_no_ratio = *failure;
    } else {
      share->ratio = paired_ratio(timings[i].rounds_us[0], timings[0].rounds_us[0], false);
    }
  }
}

}  // namespace

DeviceShares device_shares(const Store& store, RunId id, const PreparedRun& run, DevicePipeline* pipeline) {
  DeviceShares shares;
  for (const PlaceCount& count : store.places(id))
    shares.devices.push_back({count.place, count.evaluated, count.machine_failed, std::nullopt});
  if (pipeline == nullptr || kind_named(run.device.kind).modelled) return shares;
  const std::vector<DeviceInfo> devices = pipeline->devices();
  if (devices.size() < 2) return shares;
  const std::vector<EliteRow> elites = elites_of_board(store, run.info);
  if (elites.empty()) return shares;
  const Candidate candidate = restored_candidate(restore(store, elites.front().candidate), run.info.target);
  set_ratios(devices, pipeline->time_on_each(candidate, kSharedRounds), shares.devices);
  shares.timed = elites.front().candidate;
  return shares;
}

std::string shares_text(const DeviceShares& shares) {
  if (shares.devices.size() < 2) return "";
  std::string text;
  bool differ = false;
  const bool hosts = std::ranges::any_of(
      shares.devices, [&](const DeviceShare& share) { return share.place.host != shares.devices.front().place.host; });
  const auto name = [&](const RanOn& place) { return hosts ? place.device + " on " + place.host : place.device; };
  for (const DeviceShare& share : shares.devices) {
    text += fmt::format("{} evaluated {}", name(share.place), share.evaluated);
    if (share.machine_failed > 0) text += fmt::format(", {} of them failed by the machine", share.machine_failed);
    if (share.ratio) {
      text += fmt::format("; candidate {} takes {} of its time on {}", shares.timed, ratio_text(*share.ratio),
                          name(shares.devices.front().place));
      differ = differ || (ranking(*share.ratio) != Ranking::same && !plainly_same(*share.ratio, kNoticeable));
    }
    if (!share.why_no_ratio.empty())
      text += fmt::format("; candidate {} could not be timed on it: {}", shares.timed, share.why_no_ratio);
    text += '\n';
  }
  if (differ) {
    text +=
        "the GPUs differ by more than the noise; latencies stay as measured, because the ratio of one kernel is not "
        "that of another; a challenger and an elite are always timed on one GPU\n";
  }
  return text;
}

}  // namespace evo::cli
