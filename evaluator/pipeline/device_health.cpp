#include "evaluator/pipeline/device_health.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/base/error.h"

namespace evo {
namespace {

/// So many failures of the machine in a row make a device unfit.
constexpr int kMaxHarnessFailures = 5;

}  // namespace

bool fails_more_often(const Tally& one, const Tally& others) {
  constexpr std::uint64_t kFewest = 24;  // candidates of each side
  constexpr double kDeviations = 5;
  if (one.ran < kFewest || others.ran < kFewest) return false;
  const auto share = [](const Tally& tally) {
    return static_cast<double>(tally.failed) / static_cast<double>(tally.ran);
  };
  const Tally all{one.ran + others.ran, one.failed + others.failed};
  const double deviation = std::sqrt(share(all) * (1 - share(all)) *
                                     (1 / static_cast<double>(one.ran) + 1 / static_cast<double>(others.ran)));
  return share(one) - share(others) > kDeviations * deviation && one.failed > 0;
}

void DeviceHealth::serves(std::size_t lane) {
  devices_[lane].serving = true;
  devices_[lane].harness_failures = 0;
}

void DeviceHealth::watch_harness(std::size_t lane, const Evaluation& evaluation) {
  Device& device = devices_[lane];
  device.harness_failures = evaluation.verdict == Verdict::harness_failed ? device.harness_failures + 1 : 0;
  if (device.harness_failures < kMaxHarnessFailures) return;
  device.unfit = true;
  throw machine_error(
      fmt::format("{}: {} evaluations in a row failed through no fault of the candidates; the last one: {}",
                  device.name, device.harness_failures, evaluation.reason));
}

void DeviceHealth::watch_failures(std::size_t lane, const Evaluation& evaluation) {
  Device& device = devices_[lane];
  ++device.tally.ran;
  if (evaluation.verdict == Verdict::valid) return;
  ++device.tally.failed;
  const Tally others = others_than(lane);
  if (!fails_more_often(device.tally, others)) return;
  device.unfit = true;
  throw machine_error(fmt::format("it failed {} of {} candidates, the other devices {} of {}", device.tally.failed,
                                  device.tally.ran, others.failed, others.ran));
}

Tally DeviceHealth::others_than(std::size_t lane) const {
  Tally others;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (i == lane || !devices_[i].serving) continue;
    others.ran += devices_[i].tally.ran;
    others.failed += devices_[i].tally.failed;
  }
  return others;
}

}  // namespace evo
