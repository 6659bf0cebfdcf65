#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluator/device/device_memory.h"
#include "evaluator/device/input_drawer.h"
#include "evaluator/device/inputs.h"

namespace evo {

/// The inputs of one case, untouched by candidates, on the device with a guard before and behind each. To fill a buffer
/// from the device costs less than an upload. But a candidate may write there by accident. If a placed input has
/// changed, `repair` tells whether it was placed from a damaged copy.
class PristineInputs {
 public:
  /// Throws machine_error when the device has no room. `drawer` draws what it can there, the host all else; null: all.
  /// It must outlive them.
  PristineInputs(Device& device, const CaseRecipe& recipe, std::size_t guard_bytes, InputDrawer* drawer = nullptr);

  /// Drawn by the host once it is asked for, where the device has drawn.
  const std::vector<std::byte>& content(std::size_t number) const;
  /// Of an input.
  std::size_t bytes(std::size_t number) const { return images_.at(number).bytes - 2 * guard_; }
  /// Of an input's first byte on the device.
  DeviceAddress address(std::size_t number) const { return images_.at(number).memory.address() + guard_; }
  /// Of an input with its guards (Device::digest).
  std::uint64_t digest(std::size_t number) const { return images_.at(number).digest; }
  /// The copies of each input and its guards to its address in `to`; 0 leaves one out. Throws machine_error when the
  /// addresses are not as many as the inputs.
  std::vector<DeviceWrite> copies(std::span<const DeviceAddress> to) const;
  /// A guard on the device, to be copied; 0 where none was wanted.
  DeviceAddress guard() const;
  /// Uploads again what was written by accident; whether anything was.
  bool repair() const;

 private:
  struct Image {
    DeviceMemory memory;
    std::size_t bytes;  ///< With the guards.
    std::uint64_t digest;
  };
  bool is_drawn_there(std::size_t number) const { return drawer_ && drawer_->draws(recipe_, number); }
  void place(std::size_t number) const;
  std::vector<std::uint64_t> digests_now() const;

  Device& device_;
  CaseRecipe recipe_;
  std::size_t guard_;
  InputDrawer* drawer_;
  mutable std::vector<std::vector<std::byte>> contents_;  ///< Empty until somebody needs them.
  std::vector<Image> images_;
  std::optional<DeviceMemory> spare_guard_;  ///< Where there is no input.
};

}  // namespace evo
