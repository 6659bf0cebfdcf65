#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "evaluator/vgpu/sanitiser/byte_flags.h"

namespace evo::vgpu {

/// The bytes of a buffer that a launch has read through the read-only cache, and by which instruction.
class ReadOnlyReads {
 public:
  explicit ReadOnlyReads(std::size_t bytes) : read_(bytes, false), code_((bytes + kWord - 1) / kWord) {}

  void record(std::size_t at, std::size_t bytes, std::uint32_t code) {
    read_.set(at, bytes, true);
    for (std::size_t word = at / kWord; word <= (at + bytes - 1) / kWord; ++word) code_[word] = code;
  }
  /// The last instruction that has read one of these bytes, or another one of the same word.
  std::optional<std::uint32_t> reader_of(std::size_t at, std::size_t bytes) const {
    for (std::size_t byte = at; byte < at + bytes; ++byte)
      if (read_.at(byte)) return code_[byte / kWord];
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kWord = 4;
  ByteFlags read_;
  std::vector<std::uint32_t> code_;
};

}  // namespace evo::vgpu
