#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "evaluator/base/random.h"

/// A fingerprint of memory, so that large buffers can be compared where they are: the sum, modulo 2^64, of each
/// little-endian 64-bit word (the last one filled up with zeros) mixed with what its position and a key are mixed to.
/// Without the key nobody can choose content with a given digest: what a word adds depends on its position and the
/// key. cuda/digest_kernel.cpp computes the same on a GPU.
namespace evo {

static_assert(std::endian::native == std::endian::little);

/// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// A word's addend at a position. The position is mixed by itself: otherwise words could change places without changing
/// the sum, whatever the key.
inline std::uint64_t mixed_word(std::uint64_t word, std::uint64_t position, std::uint64_t key) {
  return mixed(word + mixed(position + key));
}

/// What the bytes behind the last whole word, 7 at most, add; `words`: how many lie before them.
inline std::uint64_t digest_of_rest(std::span<const std::byte> rest, std::uint64_t words, std::uint64_t key) {
  if (rest.empty()) return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, rest.data(), rest.size());
  return mixed_word(word, words, key);
}

inline std::uint64_t digest_of(std::span<const std::byte> content, std::uint64_t key) {
  const std::uint64_t words = content.size() / sizeof(std::uint64_t);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < words; ++i) {
    std::uint64_t word;
    std::memcpy(&word, content.data() + i * sizeof(word), sizeof(word));
    sum += mixed_word(word, i, key);
  }
  return sum + digest_of_rest(content.subspan(words * sizeof(std::uint64_t)), words, key);
}

/// This process's own key, drawn once.
inline std::uint64_t digest_key() {
  static const std::uint64_t key = fresh_salt();
  return key;
}

}  // namespace evo
