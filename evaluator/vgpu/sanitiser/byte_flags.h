#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace evo::vgpu {

/// One flag for each byte of a piece of memory: whether it is written. Of some only a part of the bits is.
class ByteFlags {
 public:
  ByteFlags() = default;
  ByteFlags(std::size_t bytes, bool value) { assign(bytes, value); }

  void assign(std::size_t bytes, bool value) {
    bytes_ = bytes;
    words_.assign((bytes + 63) / 64, value ? ~0ull : 0);
    partly_.clear();
  }
  std::size_t size() const { return bytes_; }

  bool all(std::size_t at, std::size_t count) const {
    bool every = true;
    each_word(at, count, [&](std::size_t word, std::uint64_t mask) { every &= (words_[word] & mask) == mask; });
    return every;
  }
  void set(std::size_t at, std::size_t count, bool value) {
    each_word(at, count, [&](std::size_t word, std::uint64_t mask) {
      words_[word] = value ? words_[word] | mask : words_[word] & ~mask;
    });
    if (!partly_.empty()) partly_.erase(partly_.lower_bound(at), partly_.lower_bound(at + count));
  }
  std::uint8_t unwritten_bits(std::size_t byte) const {
    if (at(byte)) return 0;
    const auto found = partly_.find(byte);
    return found == partly_.end() ? 0xff : found->second;
  }
  void set_unwritten_bits(std::size_t byte, std::uint8_t bits) {
    set(byte, 1, bits == 0);
    if (bits != 0 && bits != 0xff) partly_[byte] = bits;
  }
  bool at(std::size_t byte) const { return (words_[byte / 64] >> byte % 64 & 1u) != 0; }

 private:
  template <class Body>
  static void each_word(std::size_t at, std::size_t count, Body body) {
    while (count > 0) {
      const std::size_t shift = at % 64;
      const std::size_t here = std::min<std::size_t>(64 - shift, count);
      const std::uint64_t ones = here == 64 ? ~0ull : (1ull << here) - 1;
      body(at / 64, ones << shift);
      at += here;
      count -= here;
    }
  }

  std::vector<std::uint64_t> words_;
  std::map<std::size_t, std::uint8_t> partly_;  ///< The unwritten bits of bytes that have some.
  std::size_t bytes_ = 0;
};

}  // namespace evo::vgpu
