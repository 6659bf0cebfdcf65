using Bytes = std::vector<unsigned char>;

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(3);
}

// Random numbers, the same on every run (SplitMix64; normal ones by Box and Muller's method).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  float normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    return static_cast<float>(radius * std::cos(6.283185307179586 * unit()));
  }

 private:
  uint64_t state_;
};

inline long long count(const Tensor& tensor) {
  long long product = 1;
  for (const long long dim : tensor.dims) product *= dim;
  return product;
}

// Elements of the last dimension.
inline long long row_of(const Tensor& tensor) { return tensor.dims.empty() ? 1 : tensor.dims.back(); }

// From the first element to the last, in elements.
inline long long extent(const Tensor& tensor) {
  if (tensor.strides.empty()) return count(tensor);
  long long last = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) last += (tensor.dims[i] - 1) * tensor.strides[i];
  return last + 1;
}

// Where an element lies.
inline size_t place_of(const Tensor& tensor, long long element) {
  long long place = 0;
  for (size_t i = tensor.dims.size(); i > 0; --i) {
    place += element % tensor.dims[i - 1] * tensor.strides[i - 1];
    element /= tensor.dims[i - 1];
  }
  return static_cast<size_t>(place);
}
