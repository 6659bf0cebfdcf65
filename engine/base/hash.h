#pragma once

#include <memory>
#include <string>
#include <string_view>

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

}  // namespace evo
