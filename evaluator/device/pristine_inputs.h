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

/// The inputs of one case as no candidate has touched them: in host memory, and on the device as they are laid into
/// buffers, with a guard before and behind each. Copies on the device cost less than uploads, but lie where a candidate
/// may write by accident, so each is looked at (by its digest) before it is used, and uploaded again where it has
/// changed.
class PristineInputs {
 public:
  /// Throws machine_error when the device has no room.
  PristineInputs(Device& device, const CaseRecipe& recipe, std::size_t guard_bytes);

  const std::vector<std::byte>& content(std::size_t number) const { return contents_.at(number); }
  /// Lays an input and its guards at `to`.
  void place(std::size_t number, DeviceAddress to) const;
  /// Whether what `place` laid there has not changed.
  bool intact(std::size_t number, DeviceAddress at) const;

 private:
  struct Image {
    DeviceMemory memory;
    std::size_t bytes;  ///< With the guards.
    std::uint64_t digest;
  };
  void upload(std::size_t number, DeviceAddress to) const;

  Device& device_;
  std::size_t guard_;
  std::vector<std::vector<std::byte>> contents_;
  std::vector<Image> images_;
};

}  // namespace evo
