#include "evaluator/base/random.h"

#include <bit>
#include <cmath>

namespace evo {
namespace {

/// The natural logarithm of a positive normal number, from + - * / alone (all correctly rounded, so the same bits
/// everywhere): ln x = e ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)).
double portable_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  // |s| < 0.172: the term s^23 / 23 is below 1e-18.
  double series = 0.0;
  for (int odd = 21; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
  return exponent * 0.6931471805599453 + 2.0 * s * series;
}

/// AS 241, |p - 1/2| <= 0.425; q = p - 1/2.
double central_quantile(double q) {
  const double r = 0.180625 - q * q;
  const double numerator =
      (((((((2.5090809287301226727e+3 * r + 3.3430575583588128105e+4) * r + 6.7265770927008700853e+4) * r +
           4.5921953931549871457e+4) *
              r +
          1.3731693765509461125e+4) *
             r +
         1.9715909503065514427e+3) *
            r +
        1.3314166789178437745e+2) *
           r +
       3.3871328727963666080e+0);
  const double denominator =
      (((((((5.2264952788528545610e+3 * r + 2.8729085735721942674e+4) * r + 3.9307895800092710610e+4) * r +
           2.1213794301586595867e+4) *
              r +
          5.3941960214247511077e+3) *
             r +
         6.8718700749205790830e+2) *
            r +
        4.2313330701600911252e+1) *
           r +
       1.0);
  return q * numerator / denominator;
}

/// AS 241, 0 < tail < 0.075 and tail > e^-25; gives the magnitude.
double tail_quantile(double tail) {
  const double r = std::sqrt(-portable_log(tail)) - 1.6;
  const double numerator =
      (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r +
           1.27045825245236838258e+0) *
              r +
          3.64784832476320460504e+0) *
             r +
         5.76949722146069140550e+0) *
            r +
        4.63033784615654529590e+0) *
           r +
       1.42343711074968357734e+0);
  const double denominator =
      (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r +
           1.48103976427480074590e-1) *
              r +
          6.89767334985100004550e-1) *
             r +
         1.67638483018380384940e+0) *
            r +
        2.05319162663775882187e+0) *
           r +
       1.0);
  return numerator / denominator;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

double normal_from_word(std::uint32_t word) {
  const double p = (static_cast<double>(word) + 0.5) * 0x1.0p-32;
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return central_quantile(q);
  return q < 0 ? -tail_quantile(p) : tail_quantile(1.0 - p);
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
