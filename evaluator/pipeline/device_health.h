#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/result/evaluation.h"

namespace evo {

/// How many candidates ran on a device, and how many of them failed.
struct Tally {
  std::uint64_t ran = 0;
  std::uint64_t failed = 0;
};

/// Whether a device fails its candidates more often than the others by more than chance explains: candidates go to the
/// device that is free, so all get the same mix.
bool fails_more_often(const Tally& one, const Tally& others);

/// Finds devices that are unfit by what they do with candidates. A lane is known by its number. The pipeline's mutex
/// guards it.
class DeviceHealth {
 public:
  /// `name`: of the next lane's device, for people.
  void add(std::string name) { devices_.push_back({std::move(name)}); }
  /// The lane's device takes candidates, also again: its earlier failures in a row are forgotten.
  void serves(std::size_t lane);
  /// What it has done no longer counts for the others.
  void leaves(std::size_t lane) { devices_[lane].serving = false; }

  /// To be told of every result. Throws machine_error for a device on which too many in a row failed through no fault
  /// of the candidates.
  void watch_harness(std::size_t lane, const Evaluation& evaluation);
  /// The same for a result that does not come from the lane's device.
  void interrupt_row(std::size_t lane) { devices_[lane].harness_failures = 0; }
  /// To be told of every result of the device. Throws machine_error for one that fails its candidates more often than
  /// the others.
  void watch_failures(std::size_t lane, const Evaluation& evaluation);

  /// Whether one of these has thrown.
  bool is_unfit(std::size_t lane) const { return devices_[lane].unfit; }

 private:
  struct Device {
    std::string name;
    bool serving = true;
    int harness_failures = 0;  ///< In a row.
    Tally tally = {};
    bool unfit = false;
  };
  Tally others_than(std::size_t lane) const;

  std::vector<Device> devices_;
};

}  // namespace evo
