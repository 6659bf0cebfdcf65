// Device memory by index.
class Buffers {
 public:
  // `further`: each buffer begins so many bytes behind a multiple of 256.
  explicit Buffers(size_t further = 0) : further_(further) {}
  ~Buffers() {
    for (void* buffer : addresses_) cudaFree(static_cast<char*>(buffer) - further_);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  void* add(size_t bytes) {
    const size_t size = std::max<size_t>(bytes, 1);
    void* memory = nullptr;
    check(cudaMalloc(&memory, size + further_), "cudaMalloc");
    char* const buffer = static_cast<char*>(memory) + further_;
    addresses_.push_back(buffer);
    // Not-a-number in every floating point format: what is not written cannot look right.
    check(cudaMemset(buffer, 0xff, size), "cudaMemset");
    return buffer;
  }
  void* operator[](size_t index) const { return addresses_[index]; }
  const std::vector<void*>& addresses() const { return addresses_; }

 private:
  size_t further_;
  std::vector<void*> addresses_;
};

// What lies between the elements of a tensor with strides is 0xff.
inline void upload(void* to, const Tensor& tensor, DType dtype, const Bytes& elements) {
  Bytes memory(bytes_for(dtype, extent(tensor)), 0xff);
  for (long long i = 0; i < count(tensor) && !tensor.strides.empty(); ++i)
    std::memcpy(&memory[place_of(tensor, i) * size_of(dtype)], &elements[static_cast<size_t>(i) * size_of(dtype)], size_of(dtype));
  const Bytes& all = tensor.strides.empty() ? elements : memory;
  check(cudaMemcpy(to, all.data(), all.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
}

// The elements, one after the other. *untouched: whether what lies between them is as it was.
inline Bytes download(const void* from, const Tensor& tensor, DType dtype, bool* untouched = nullptr) {
  Bytes memory(bytes_for(dtype, extent(tensor)));
  check(cudaMemcpy(memory.data(), from, memory.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  if (untouched != nullptr) *untouched = true;
  if (tensor.strides.empty()) return memory;
  Bytes elements(bytes_for(dtype, count(tensor)));
  for (long long i = 0; i < count(tensor); ++i) {
    unsigned char* const place = &memory[place_of(tensor, i) * size_of(dtype)];
    std::memcpy(&elements[static_cast<size_t>(i) * size_of(dtype)], place, size_of(dtype));
    std::memset(place, 0xff, size_of(dtype));
  }
  const bool same = std::all_of(memory.begin(), memory.end(), [](unsigned char byte) { return byte == 0xff; });
  if (untouched != nullptr) *untouched = same;
  return elements;
}
//% if equal

// An index of another element of the same value becomes the reference's, but not one that a row names twice.
inline void accept_equal(const Tensor& tensor, const Tensor& among, const Bytes& values, const Bytes& want, Bytes& got) {
  const size_t row = static_cast<size_t>(among.dims.back()), size = static_cast<size_t>(count(tensor));
  const size_t indices = tensor.dims.size() < among.dims.size() ? 1 : static_cast<size_t>(row_of(tensor));
  for (size_t begin = 0; begin < size; begin += indices) {
    std::vector<double> named;
    const size_t first = begin / indices * row;
    for (size_t i = begin; i < std::min(begin + indices, size); ++i) {
      const double index = load_at(tensor.dtype, got, i), right = load_at(tensor.wanted, want, i);
      const bool again = std::find(named.begin(), named.end(), index) != named.end();
      named.push_back(index);
      if (again || !(index >= 0 && index < static_cast<double>(row))) continue;
      const auto value = [&](double at) { return load_at(among.dtype, values, first + static_cast<size_t>(at)); };
      if (value(index) == value(right)) store_at(tensor.dtype, got, i, right);
    }
  }
}
//% end
//% if inout

// Puts the drawn values into the outputs that a call reads.
inline void restore(const std::vector<Tensor>& tensors, const Buffers& buffers, const std::vector<Bytes>& elements) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].inout) upload(buffers[i], tensors[i], tensors[i].dtype, elements[i]);
  }
}

// The same for the reference, as it writes them.
inline void restore_wanted(const std::vector<Tensor>& tensors, const Buffers& oracle, const std::vector<Bytes>& elements) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (!tensor.inout) continue;
    Bytes wide = elements[i];
    if (tensor.wanted != tensor.dtype) {
      wide.resize(bytes_for(tensor.wanted, count(tensor)));
      for (size_t k = 0; k < static_cast<size_t>(count(tensor)); ++k) store_at(tensor.wanted, wide, k, load_at(tensor.dtype, elements[i], k));
    }
    upload(oracle[i], tensor, tensor.wanted, wide);
  }
}
//% end
