// Elements that are drawn one by one, in the text that C++ (draws.cpp) and kernels (draw_kernels.cu) compile. The
// includer has random_bits, normal_of_word, bits_of and real_of_bits of a Real, an ElementDraw (draws.h), and the
// enumerators of `element` and `source`. A Real is as in counter_random.cuh. EVO_EACH says where functions run.

/// What a counter's third word says the number is for, so that choices and values are independent.
enum DrawPurpose { draws_value, draws_regime, draws_zeros };

EVO_EACH unsigned long long below(unsigned long long count, unsigned long long bits) {
  return count == 0 ? bits : bits % count;
}

/// The element whose random numbers element i has.
EVO_EACH unsigned long long source_of(const ElementDraw& draw, unsigned long long i) {
  if (draw.source == source::first) return 0;
  if (draw.source == source::row) return i - i % draw.row;
  return draw.source == source::tied ? random_bits(draw.stream, i, draws_regime) % draw.ties : i;
}

/// One of the values of the regime `ties`, as its distance from the range's first. Of a wide range they are odd numbers
/// times powers of two that differ by 2^4: for one in four scales that are powers of two, the product is a half.
EVO_EACH unsigned long long tied(const ElementDraw& draw, unsigned long long number) {
  const unsigned long long any = below(draw.count, random_bits(draw.stream, number, draws_regime));
  if (draw.most_zeros == 0) return any;
  const auto first = static_cast<long long>(draw.first), value = static_cast<long long>(draw.first + any);
  const unsigned long long zeros = (random_bits(draw.stream, 0, draws_zeros) + 4 * number) % draw.most_zeros;
  const long long unit = 1LL << zeros, odd = (value / unit / 2 * 2 + 1) * unit;
  const unsigned long long distance = static_cast<unsigned long long>(odd) - draw.first;
  return odd >= first && distance < draw.count ? distance : any;
}

/// A whole number, as its 64 bits.
EVO_EACH unsigned long long whole_element(const ElementDraw& draw, unsigned long long i) {
  if (draw.kind == element::progression) return draw.first + i * draw.count;
  const unsigned long long bits = random_bits(draw.stream, i, draws_value);
  if (draw.source == source::ends) return draw.first + (bits >> 63 != 0 ? draw.count - 1 : 0);
  return draw.first + (draw.source == source::tied ? tied(draw, bits % draw.ties) : below(draw.count, bits));
}

/// The greatest power of two up to the value.
template <class Real>
EVO_EACH Real power_of_two(Real value) {
  return real_of_bits<Real>(bits_of(value) & 0xfff0000000000000ULL);
}

template <class Real>
EVO_EACH Real magnitude_of(Real value) {
  return real_of_bits<Real>(bits_of(value) & 0x7fffffffffffffffULL);
}

template <class Real>
EVO_EACH Real uniform_element(const ElementDraw& draw, unsigned long long i) {
  if (draw.powers != 0) {  // Every second time the greatest one of the range, or else any.
    const unsigned long long bits = random_bits(draw.stream, i, draws_regime);
    const int lower = bits >> 63 != 0 ? 0 : static_cast<int>(bits % static_cast<unsigned>(draw.most - draw.least + 1));
    return real_of_bits<Real>(static_cast<unsigned long long>(draw.most - lower + 1023) << 52);
  }
  const unsigned long long bits = random_bits(draw.stream, source_of(draw, i), draws_value);
  const Real share = Real(static_cast<double>(bits >> 11)) * Real(1.0 / 9007199254740992.0);
  return Real(draw.begin) + share * Real(draw.width);
}

/// A number that need not be whole.
template <class Real>
EVO_EACH Real real_element(const ElementDraw& draw, unsigned long long i) {
  if (draw.kind == element::line) return Real(draw.begin) + Real(static_cast<double>(i)) * Real(draw.width);
  if (draw.kind == element::uniform) return uniform_element<Real>(draw, i);
  const unsigned long long bits = random_bits(draw.stream, source_of(draw, i), draws_value);
  const Real normal = normal_of_word<Real>(static_cast<unsigned>(bits >> 32));
  Real value = Real(draw.begin) + normal * Real(draw.width);
  if (draw.kind == element::magnitude) value = magnitude_of(value);
  return draw.powers != 0 ? power_of_two(value) : value;
}
