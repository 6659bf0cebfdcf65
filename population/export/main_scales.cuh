// The largest real value of a code. u8 without zero points is an affine code: 0 to 255 stand for -448 to 448.
inline float largest(DType dtype) {
  switch (dtype) {
//% if largest_cases != ''
    ${largest_cases}
//% end
    default: return 1.0F;
  }
}

// Which scale an element has: along each dim, equal groups of elements share one, the last of which may be shorter.
class Groups {
 public:
  Groups(const Tensor& tensor, const Tensor& scales) : dims_(tensor.dims), groups_(scales.dims) {
    const size_t rank = std::max(dims_.size(), groups_.size());
    dims_.resize(rank, 1);
    groups_.resize(rank, 1);
  }
  long long of(long long element) const {
    long long group = 0, step = 1;
    for (size_t i = dims_.size(); i > 0; --i) {
      const long long dim = dims_[i - 1], groups = groups_[i - 1], length = (dim + groups - 1) / groups;
      group += element % dim / length * step;
      element /= dim;
      step *= groups;
    }
    return group;
  }

 private:
  std::vector<long long> dims_, groups_;
};

// `value` relative to its scale, as the code's number.
inline float scaled_by([[maybe_unused]] DType dtype, float value, float scale) {
  const float ratio = value / scale;
//% if u8
  if (dtype == DType::u8) return 127.5F + ratio * (255.0F / 896.0F);
//% end
  return ratio;
}

struct Quantiser {
  float scale, zero_point;
};

// A group's largest magnitude becomes the largest code; a group of zeros has scale 1.
inline Quantiser symmetric(DType dtype, float low, float high) {
  const float most = std::max(high, -low);
  return {most > 0 ? most / largest(dtype) : 1.0F, 0};
}

// A group's range becomes the range of the codes, one of which is 0.
inline Quantiser affine(DType dtype, float low, float high) {
  unsigned char code[8];
  encode(dtype, -1e30, code);
  const float least = static_cast<float>(decode(dtype, code));
  encode(dtype, 1e30, code);
  const float greatest = static_cast<float>(decode(dtype, code));
  if (low == high) return {1, std::ceil((least + greatest) / 2)};
  const float scale = (high - low) / (greatest - least);
  return {scale, std::min(greatest, std::max(least, std::nearbyint(least - low / scale)))};
}

inline void quantise(const std::vector<Tensor>& tensors, size_t index, const std::vector<float>& values, std::vector<Bytes>& elements) {
  const Tensor& tensor = tensors[index];
  const size_t scale_index = static_cast<size_t>(tensor.scale), zero_index = static_cast<size_t>(tensor.zero_point);
  const bool has_zero_point = tensor.zero_point >= 0;
  const Groups groups(tensor, tensors[scale_index]);
  std::vector<float> low(static_cast<size_t>(count(tensors[scale_index])), 0.0F), high = low;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t g = static_cast<size_t>(groups.of(static_cast<long long>(i)));
    low[g] = std::min(low[g], values[i]);
    high[g] = std::max(high[g], values[i]);
  }
  for (size_t g = 0; g < low.size(); ++g) {
    const Quantiser made = has_zero_point ? affine(tensor.dtype, low[g], high[g]) : symmetric(tensor.dtype, low[g], high[g]);
    const DType scale_dtype = tensors[scale_index].dtype;
    store_at(scale_dtype, elements[scale_index], g, made.scale);
//% if e8m0
    // The next larger power of two, so that the largest value keeps its code.
    const double stored = load_at(scale_dtype, elements[scale_index], g);
    if (scale_dtype == DType::e8m0 && stored < made.scale) store_at(scale_dtype, elements[scale_index], g, 2 * stored);
//% end
    if (has_zero_point) store_at(tensors[zero_index].dtype, elements[zero_index], g, made.zero_point);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t g = static_cast<size_t>(groups.of(static_cast<long long>(i)));
    const float scale = static_cast<float>(load_at(tensors[scale_index].dtype, elements[scale_index], g));
    const double code = has_zero_point ? values[i] / scale + load_at(tensors[zero_index].dtype, elements[zero_index], g)
                                       : scaled_by(tensor.dtype, values[i], scale);
    store_at(tensor.dtype, elements[index], i, code);
  }
}
