// Philox and the normal quantile, in the text that C++ (random.cpp) and kernels (evaluator/kernels/draw_kernels.cu)
// compile. A Real is a double; in kernels, one whose operations are rounded one by one. The includer has bits_of,
// real_of_bits and root of a Real, and says with EVO_EACH where functions run, with EVO_UNROLL that a loop is to be
// unrolled.

struct PhiloxWords {
  unsigned word[4];
};

EVO_EACH PhiloxWords philox_words(unsigned long long key, PhiloxWords counter) {
  constexpr unsigned long long kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr unsigned kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  auto key0 = static_cast<unsigned>(key);
  auto key1 = static_cast<unsigned>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const unsigned long long product0 = kMultiplier0 * counter.word[0];
    const unsigned long long product1 = kMultiplier1 * counter.word[2];
    counter = {{static_cast<unsigned>(product1 >> 32) ^ counter.word[1] ^ key0, static_cast<unsigned>(product1),
                static_cast<unsigned>(product0 >> 32) ^ counter.word[3] ^ key1, static_cast<unsigned>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

/// By Horner's rule, the highest coefficient first.
template <class Real, int N>
EVO_EACH Real polynomial(const double (&coefficients)[N], Real r) {
  Real sum(coefficients[0]);
  EVO_UNROLL
  for (int i = 1; i < N; ++i) sum = sum * r + Real(coefficients[i]);
  return sum;
}

/// The natural logarithm of a positive normal number, from + - * / alone (all correctly rounded, so the same bits
/// everywhere): ln x = e ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)).
template <class Real>
EVO_EACH Real portable_log(Real x) {
  const unsigned long long bits = bits_of(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  Real mantissa = real_of_bits<Real>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (mantissa > Real(1.4142135623730951)) {
    mantissa = mantissa * Real(0.5);
    ++exponent;
  }
  const Real s = (mantissa - Real(1.0)) / (mantissa + Real(1.0));
  // |s| < 0.172: the term s^23 / 23 is below 1e-18.
  constexpr double kSeries[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  const Real series = polynomial(kSeries, s * s);
  return Real(static_cast<double>(exponent)) * Real(0.6931471805599453) + Real(2.0) * s * series;
}

/// AS 241, |p - 1/2| <= 0.425; q = p - 1/2.
template <class Real>
EVO_EACH Real central_quantile(Real q) {
  constexpr double kNumerator[] = {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                                   4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                   1.3314166789178437745e+2, 3.3871328727963666080e+0};
  constexpr double kDenominator[] = {
      5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
      5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0};
  const Real r = Real(0.180625) - q * q;
  return q * polynomial(kNumerator, r) / polynomial(kDenominator, r);
}

/// AS 241, 0 < tail < 0.075 and tail > e^-25; gives the magnitude.
template <class Real>
EVO_EACH Real tail_quantile(Real tail) {
  constexpr double kNumerator[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                                   1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
                                   4.63033784615654529590e+0, 1.42343711074968357734e+0};
  constexpr double kDenominator[] = {
      1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
      6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1.0};
  const Real r = root(Real(0.0) - portable_log(tail)) - Real(1.6);
  return polynomial(kNumerator, r) / polynomial(kDenominator, r);
}

/// The normal quantile of (word + 1/2) / 2^32.
template <class Real>
EVO_EACH Real normal_quantile(unsigned word) {
  const Real p = (Real(static_cast<double>(word)) + Real(0.5)) * Real(1.0 / 4294967296.0);
  const Real q = p - Real(0.5);
  if (!(q > Real(0.425)) && !(Real(-0.425) > q)) return central_quantile(q);
  return q > Real(0.0) ? tail_quantile(Real(1.0) - p) : Real(0.0) - tail_quantile(p);
}
