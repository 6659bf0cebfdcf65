#include "engine/base/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace evo {
namespace {

std::string hex_of(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

struct Hasher::State {
  XXH3_state_t xxh3;
};

Hasher::Hasher() : state_(new State) {
  XXH3_128bits_reset(&state_->xxh3);
}
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::string_view text) {
  const std::uint64_t size = text.size();
  XXH3_128bits_update(&state_->xxh3, &size, sizeof size);
  XXH3_128bits_update(&state_->xxh3, text.data(), text.size());
  return *this;
}

std::string Hasher::hex() const {
  return hex_of(XXH3_128bits_digest(&state_->xxh3));
}

std::string hash_hex(std::string_view text) {
  return hex_of(XXH3_128bits(text.data(), text.size()));
}

std::string hash_of_source(const std::string& source, int max_registers) {
  return Hasher().add(source).add(std::to_string(max_registers)).hex();
}

}  // namespace evo
