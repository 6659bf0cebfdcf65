#include "evaluator/base/random.h"

#include <bit>
#include <cmath>

namespace evo {
namespace {

std::uint64_t bits_of(double x) {
  return std::bit_cast<std::uint64_t>(x);
}
template <class Real>
Real real_of_bits(std::uint64_t bits) {
  return std::bit_cast<Real>(bits);
}
double root(double x) {
  return std::sqrt(x);
}

#define EVO_EACH [[gnu::always_inline]] inline
#define EVO_UNROLL _Pragma("GCC unroll 16")
#include "evaluator/base/counter_random.cuh"
#undef EVO_EACH
#undef EVO_UNROLL

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  return std::bit_cast<std::array<std::uint32_t, 4>>(philox_words(key, std::bit_cast<PhiloxWords>(counter)));
}

double normal_from_word(std::uint32_t word) {
  return normal_quantile<double>(word);
}

std::uint64_t mix(std::uint64_t key, std::uint64_t with) {
  std::uint64_t x = key * 0x9E3779B97F4A7C15ULL + with + 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint64_t mix(std::uint64_t key, std::string_view with) {
  key = mix(key, with.size());
  for (const char c : with) key = mix(key, static_cast<unsigned char>(c));
  return key;
}

}  // namespace evo
