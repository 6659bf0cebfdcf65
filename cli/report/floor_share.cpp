#include "cli/report/floor_share.h"

#include "cli/model/modeller.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/hosts/devices.h"

namespace evo::cli {
namespace {

std::optional<CountedShare> counted_share(const CandidateRow& kernel, const std::string& shape, double floor_us) {
  for (const Profile& profile : kernel.evaluation.profiles) {
    const double duration = duration_us(profile.launches);
    if (profile.shape != shape || duration <= 0) continue;
    CountedShare counted{.modelled = profile.modelled, .duration_us = duration, .share = floor_us / duration};
    counted.bound = in_words(profile);
    if (const LaunchProfile* longest = longest_launch(profile.launches)) {
      counted.tensor_percent = longest->value(metric::kTensorPipe);
      counted.memory_percent = longest->value(metric::kMemory);
    }
    return counted;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DeviceInfo> rates_of(const DeviceRecord& record) {
  try {
    if (kind_named(record.kind).modelled) return resolve_device(record.id);
    const auto like = find_virtual_gpu_like(record.name);
    return like ? std::optional(resolve_device(*like)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // A virtual GPU, or a kind, of another version of evo.
  }
}

std::vector<ShapeShare> shares_of(const Task& task, const Target& target, const DeviceInfo& device,
                                  const std::vector<CandidateRow>& kernels) {
  std::vector<ShapeShare> shares;
  for (const Shape& shape : target.timed) {
    ShapeShare share{shape.name,
                     floor_of(task, target.options, shape),
                     physical_floor(task, target.options, shape, device, false),
                     {}};
    const double floor_us = share.floor.us();
    for (const CandidateRow& kernel : kernels)
      for (const Timing& timing : kernel.evaluation.timings)
        if (timing.shape == shape.name && !timing.cold && timing.median_us > 0)
          share.kernels.push_back(
              {kernel.id, timing.median_us, floor_us / timing.median_us, counted_share(kernel, shape.name, floor_us)});
    shares.push_back(std::move(share));
  }
  return shares;
}

}  // namespace evo::cli
