inline size_t size_of(DType dtype) {
  switch (dtype) {
    ${size_cases}
  }
  return 0;
}

inline bool is_integer(DType dtype) {
  switch (dtype) {
    ${integer_cases}
  }
  return false;
}

template <class T>
void store(unsigned char* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T load(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Rounded to nearest even and saturated.
template <class T>
T whole(double value) {
  if (!(value > static_cast<double>(std::numeric_limits<T>::lowest()))) return std::numeric_limits<T>::lowest();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(std::nearbyint(value));
}
//% if e2m1

// OCP Microscaling Formats 1.0, 5.3.3: a sign and one of these. Two share a byte, the first in its low half.
constexpr double kE2m1[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};

inline unsigned char e2m1_code(double value) {
  int code = 0;
  while (code < 7) {
    const double middle = (kE2m1[code] + kE2m1[code + 1]) / 2;
    if (std::fabs(value) < middle || (std::fabs(value) == middle && code % 2 == 0)) break;
    ++code;
  }
  return static_cast<unsigned char>(std::signbit(value) ? code | 8 : code);
}
//% end

inline void encode(DType dtype, double value, unsigned char* to) {
  [[maybe_unused]] const float single = static_cast<float>(value);
  switch (dtype) {
    ${encode_cases}
  }
}

inline double decode(DType dtype, const unsigned char* from) {
  switch (dtype) {
    ${decode_cases}
  }
  return NAN;
}

inline size_t bytes_for(DType dtype, long long count) {
//% if e2m1
  if (dtype == DType::e2m1) return static_cast<size_t>((count + 1) / 2);
//% end
  return static_cast<size_t>(count) * size_of(dtype);
}

// Of elements that lie one after the other.
inline void store_at(DType dtype, std::vector<unsigned char>& bytes, size_t i, double value) {
//% if e2m1
  if (dtype == DType::e2m1) {
    unsigned char& pair = bytes[i / 2];
    const unsigned code = e2m1_code(value);
    pair = static_cast<unsigned char>(i % 2 == 0 ? (pair & 0xf0U) | code : (pair & 0x0fU) | code << 4);
    return;
  }
//% end
  encode(dtype, value, &bytes[i * size_of(dtype)]);
}
inline double load_at(DType dtype, const std::vector<unsigned char>& bytes, size_t i) {
//% if e2m1
  if (dtype == DType::e2m1) {
    const unsigned char code = bytes[i / 2] >> (i % 2 * 4) & 15;
    return decode(dtype, &code);
  }
//% end
  return decode(dtype, &bytes[i * size_of(dtype)]);
}
