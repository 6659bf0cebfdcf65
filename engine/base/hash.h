#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// xxh3-128 over a sequence of texts, each counted with its length, so that ("ab", "c") and ("a", "bc")
/// differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& add(std::string_view text);
  /// 32 hex digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// xxh3-128 of one text, 32 hex digits.
std::string hash_hex(std::string_view text);

/// Of a program: xxh3-128 of its source and its register cap, 32 hex digits.
std::string hash_of_source(const std::string& source, int max_registers);

/// For containers of lists of numbers.
struct SequenceHash {
  std::size_t operator()(const std::vector<std::uint32_t>& sequence) const {
    std::uint64_t hash = sequence.size();
    for (const std::uint32_t id : sequence) hash = (hash ^ id) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

}  // namespace evo
