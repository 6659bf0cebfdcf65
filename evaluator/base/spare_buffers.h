#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace evo {

/// Large buffers that are used again. A new one costs more than to fill it: the system clears it page by page. Smaller
/// ones the allocator keeps itself. Used by one thread.
class SpareBuffers {
 public:
  /// Keeps at most so many bytes, the latest ones.
  explicit SpareBuffers(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// A buffer of that size. It may hold what it held before.
  std::vector<std::byte> take(std::size_t bytes) {
    const auto fits = [bytes](const std::vector<std::byte>& one) {
      return one.capacity() >= bytes && one.capacity() / 2 <= bytes;
    };
    const auto found = bytes < kLeastBytes ? spares_.end() : std::ranges::find_if(spares_, fits);
    if (found == spares_.end()) return std::vector<std::byte>(bytes);
    std::vector<std::byte> buffer = std::move(*found);
    spares_.erase(found);
    kept_bytes_ -= buffer.capacity();
    buffer.resize(bytes);
    return buffer;
  }

  /// Takes back a buffer that is not needed any more.
  void keep(std::vector<std::byte> buffer) {
    if (buffer.capacity() < kLeastBytes || buffer.capacity() > most_bytes_) return;
    kept_bytes_ += buffer.capacity();
    spares_.push_back(std::move(buffer));
    for (; kept_bytes_ > most_bytes_; spares_.pop_front()) kept_bytes_ -= spares_.front().capacity();
  }

 private:
  static constexpr std::size_t kLeastBytes = 16 << 20;

  std::size_t most_bytes_;
  std::size_t kept_bytes_ = 0;
  std::deque<std::vector<std::byte>> spares_;
};

}  // namespace evo
