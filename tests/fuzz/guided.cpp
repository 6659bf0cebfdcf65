// The targets for libFuzzer, which is guided by coverage: EVO_FUZZ_TARGET names the one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutation.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace evo::fuzz;

std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::size_t written(const std::string& text, std::uint8_t* to, std::size_t max_size) {
  const std::size_t size = std::min(text.size(), max_size);
  std::memcpy(to, text.data(), size);
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  begin(*argc, *argv);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  Random random(seed + 1);
  if (random() % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text = text_of(data, size);
  return written(mutated(text, {text}, random), data, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
  Random random(seed + 1);
  return written(mutated(text_of(first, first_size), {text_of(second, second_size)}, random), out, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* const named = std::getenv("EVO_FUZZ_TARGET");
  static const Target& target = target_named(named != nullptr ? named : "");
  read_or_refuse(target, text_of(data, size));
  return 0;
}
