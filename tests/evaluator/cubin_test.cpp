#include "evaluator/compile/cubin.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string_view>
#include <vector>

using evo::cubin_hash;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

TEST_CASE("a file that is not ELF is hashed as a whole") {
  CHECK(cubin_hash(bytes_of("one")) == cubin_hash(bytes_of("one")));
  CHECK(cubin_hash(bytes_of("one")) != cubin_hash(bytes_of("two")));
  CHECK(cubin_hash({}).size() == 32);
}

TEST_CASE("a damaged ELF file is hashed as a whole instead of being read past its end") {
  std::vector<std::byte> header = bytes_of(
      "\x7f"
      "ELF\x02");
  CHECK(cubin_hash(header).size() == 32);
  header.resize(64, std::byte{0xff});
  std::vector<std::byte> other = header;
  other.back() = std::byte{0};
  CHECK(cubin_hash(header) != cubin_hash(other));
}
