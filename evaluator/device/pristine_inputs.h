#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "evaluator/device/device_memory.h"
#include "evaluator/device/inputs.h"

namespace evo {

/// The inputs of one case, untouched by candidates: in host memory, and on the device with a guard before and behind
/// each. To fill a buffer from the device costs less than an upload. But a candidate may write there by accident: the
/// digest of each is checked before it is used, and one that has changed is uploaded again.
class PristineInputs {
 public:
  /// Throws machine_error when the device has no room.
  PristineInputs(Device& device, const CaseRecipe& recipe, std::size_t guard_bytes);

  const std::vector<std::byte>& content(std::size_t number) const { return contents_.at(number); }
  /// Copies each input and its guards to its address in `to`; 0 leaves one out. Throws machine_error when the addresses
  /// are not as many as the inputs.
  void place(std::span<const DeviceAddress> to) const;
  /// The first input whose bytes at its address in `at`, where `place` copied them, have changed; 0 leaves one out.
  std::optional<std::size_t> first_changed(std::span<const DeviceAddress> at) const;

 private:
  struct Image {
    DeviceMemory memory;
    std::size_t bytes;  ///< With the guards.
    std::uint64_t digest;
  };
  void upload(std::size_t number, DeviceAddress to) const;
  /// The inputs that have an address, and whose bytes there are not the drawn ones.
  std::vector<std::size_t> changed(std::span<const DeviceAddress> at) const;
  void require_one_for_each_input(std::span<const DeviceAddress> addresses) const;

  Device& device_;
  std::size_t guard_;
  std::vector<std::vector<std::byte>> contents_;
  std::vector<Image> images_;
};

}  // namespace evo
