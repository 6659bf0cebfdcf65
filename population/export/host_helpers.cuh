// ---- Host side. It is the family's launch plan with this kernel's genes folded into it.

namespace ${host} {

struct Launch {
  long long grid[3];
  long long block[3];
  long long cluster[3];
  long long dynamic_smem_bytes;
  bool programmatic;  // May start before the launch ahead of it in the stream has ended.
  bool cooperative;   // Blocks wait for the whole grid: CUDA refuses one whose blocks are not all resident together.
};

// A whole number whose arithmetic is watched: *exact becomes false where a result is undefined or needs more than 64 bits.
class Checked {
 public:
  Checked(long long value, bool* exact = nullptr) : value_(value), exact_(exact) {}
  explicit operator unsigned long long() const { return value_ > 0 ? Bits(value_) : Bits(result(*this, *this, false, 0).value_ + 1); }
//% if reals
  explicit operator double() const { return static_cast<double>(value_); }
//% end

  friend Checked operator+(Checked a, Checked b) { return result(a, b, fits(double(a.value_) + double(b.value_)), Bits(a.value_) + Bits(b.value_)); }
  friend Checked operator-(Checked a, Checked b) { return result(a, b, fits(double(a.value_) - double(b.value_)), Bits(a.value_) - Bits(b.value_)); }
  friend Checked operator*(Checked a, Checked b) { return result(a, b, fits(double(a.value_) * double(b.value_)), Bits(a.value_) * Bits(b.value_)); }
  friend Checked operator/(Checked a, Checked b) { return result(a, b, b.value_ != 0, b.value_ != 0 ? Bits(a.value_ / b.value_) : 0); }
  friend Checked operator%(Checked a, Checked b) { return result(a, b, b.value_ != 0, b.value_ != 0 ? Bits(a.value_ % b.value_) : 0); }
  friend Checked operator&(Checked a, Checked b) { return result(a, b, true, Bits(a.value_ & b.value_)); }
  friend Checked operator|(Checked a, Checked b) { return result(a, b, true, Bits(a.value_ | b.value_)); }
  friend Checked operator<<(Checked a, Checked b) { return b.shifts() ? a * Checked(1LL << b.value_, b.exact_) : result(a, b, false, 0); }
  friend Checked operator>>(Checked a, Checked b) { return result(a, b, b.shifts(), b.shifts() ? Bits(a.value_ >> b.value_) : 0); }
  friend Checked operator-(Checked a) { return 0 - a; }
  friend bool operator==(Checked a, Checked b) { return a.value_ == b.value_; }
  friend bool operator!=(Checked a, Checked b) { return a.value_ != b.value_; }
  friend bool operator<(Checked a, Checked b) { return a.value_ < b.value_; }
  friend bool operator<=(Checked a, Checked b) { return a.value_ <= b.value_; }
  friend bool operator>(Checked a, Checked b) { return a.value_ > b.value_; }
  friend bool operator>=(Checked a, Checked b) { return a.value_ >= b.value_; }

 private:
  using Bits = unsigned long long;
  // 64 bits reach a little further than this, by more than what doubles are off.
  static bool fits(double result) { return result > -9e18 && result < 9e18; }
  bool shifts() const { return value_ >= 0 && value_ < 63; }
  static Checked result(Checked a, Checked b, bool good, Bits bits) {
    bool* const exact = a.exact_ != nullptr ? a.exact_ : b.exact_;
    if (!good && exact != nullptr) *exact = false;
    return Checked(good ? static_cast<long long>(bits) : 0, exact);
  }

  long long value_;
  bool* exact_;
};

inline bool within(std::initializer_list<Checked> values, long long least, long long most) {
  for (const Checked& value : values) {
    if (value < least || value > most) return false;
  }
  return true;
}
//% if reals

inline bool within_reals(std::initializer_list<double> values, double least, double most) {
  for (const double value : values) {
    if (!(value >= least && value <= most)) return false;
  }
  return true;
}
//% end

// Whether none is null and all are multiples of `bytes`.
inline bool aligned(std::initializer_list<const void*> addresses, std::uintptr_t bytes) {
  for (const void* address : addresses) {
    if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return false;
  }
  return true;
}

//% if guarded

// Tells images apart: with 64 threads it is of a target that runs the kernels, with 32 of another one.
#ifndef ${other_target}
static __global__ void __launch_bounds__(64) image() {}
#else
static __global__ void __launch_bounds__(32) image() {}
#endif

// Whether the current device has loaded the kernels, and not those that trap. A device's answer never changes: those that
// have them are kept.
inline cudaError_t has_kernels() {
  static std::atomic<unsigned long long> devices{0};
  int device = 0;
  const cudaError_t current = cudaGetDevice(&device);
  if (current != cudaSuccess) return current;
  const unsigned long long bit = device < 64 ? 1ULL << device : 0;
  if ((devices.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  cudaFuncAttributes attributes = {};
  const cudaError_t asked = cudaFuncGetAttributes(&attributes, (const void*)&image);
  if (asked != cudaSuccess) return asked;
  if (attributes.maxThreadsPerBlock != 64) return cudaErrorNoKernelImageForDevice;
  devices.fetch_or(bit, std::memory_order_relaxed);
  return cudaSuccess;
}
//% end

// The launch is of a size that was accepted.
inline cudaError_t start(const void* kernel, const Launch& launch, void** arguments, cudaStream_t stream) {
  cudaLaunchAttribute attributes[3] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid[0]), static_cast<unsigned>(launch.grid[1]),
                        static_cast<unsigned>(launch.grid[2]));
  config.blockDim = dim3(static_cast<unsigned>(launch.block[0]), static_cast<unsigned>(launch.block[1]),
                         static_cast<unsigned>(launch.block[2]));
  config.dynamicSmemBytes = static_cast<size_t>(launch.dynamic_smem_bytes);
  config.stream = stream;
  config.attrs = attributes;
  const long long cluster_size = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (cluster_size > 8) {
    const cudaError_t set = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (set != cudaSuccess) return set;
  }
  if (cluster_size > 1) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(launch.cluster[0]);
    attribute.val.clusterDim.y = static_cast<unsigned>(launch.cluster[1]);
    attribute.val.clusterDim.z = static_cast<unsigned>(launch.cluster[2]);
  }
  if (launch.programmatic) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.cooperative) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
//% if tensor_maps

static std::atomic<void*> encode_function;

// cuTensorMapEncodeTiled comes from the driver through the runtime, so that nothing but cudart is linked. It is the same in
// every context. A failure is not kept: the next call may find what this one did not.
inline void* find_encode_function() {
  if (void* const known = encode_function.load(std::memory_order_acquire)) return known;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return nullptr;
  encode_function.store(found, std::memory_order_release);
  return found;
}

inline cudaError_t encode(CUtensorMap* map, CUtensorMapDataType type, int rank, const void* address,
                          const long long* dims, const long long* strides_bytes, const long long* box,
                          long long swizzle_bytes) {
  void* const entry = find_encode_function();
  if (entry == nullptr) return cudaErrorNotSupported;
  cuuint64_t map_dims[5] = {};
  cuuint64_t map_strides[5] = {};
  cuuint32_t map_box[5] = {};
  cuuint32_t every_element[5] = {1, 1, 1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    map_dims[i] = static_cast<cuuint64_t>(dims[i]);
    map_box[i] = static_cast<cuuint32_t>(box[i]);
    if (i + 1 < rank) map_strides[i] = static_cast<cuuint64_t>(strides_bytes[i]);
  }
  const CUtensorMapSwizzle swizzle = swizzle_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : swizzle_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : swizzle_bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                           : CU_TENSOR_MAP_SWIZZLE_NONE;
  const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry)(
      map, type, static_cast<cuuint32_t>(rank), const_cast<void*>(address), map_dims, map_strides, map_box,
      every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}
//% end
//% if shared_memory

// Over 48 KB of shared memory must be allowed, for each kernel in each context. Any call may be the first in its context
// (another device, a device that was reset): nothing is remembered.
inline cudaError_t allow_shared_memory(const void* kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
//% end
//% if more_shared_memory

static std::mutex raising_shared_memory;

// Over 48 KB of shared memory must be allowed, for each kernel in each context. Calls of other threads may need more or
// less: what is allowed is only ever raised.
inline cudaError_t allow_more_shared_memory(const void* kernel, long long bytes) {
  const std::lock_guard<std::mutex> alone(raising_shared_memory);
  cudaFuncAttributes now = {};
  const cudaError_t asked = cudaFuncGetAttributes(&now, kernel);
  if (asked != cudaSuccess || now.maxDynamicSharedSizeBytes >= bytes) return asked;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}
//% end
//% if fills

// Copies to a __constant__ or __device__ variable, which `from` fills. A graph that is being captured will read values of
// the host whenever it runs: they are kept for as long as the process lives.
template <class Variable>
cudaError_t fill(const Variable& variable, const void* from, cudaMemcpyKind kind, cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (kind == cudaMemcpyHostToDevice) {
    const cudaError_t asked = cudaStreamIsCapturing(stream, &capture);
    if (asked != cudaSuccess) return asked;
  }
  if (capture == cudaStreamCaptureStatusActive) {
    char* const kept = new char[sizeof(Variable)];
    std::memcpy(kept, from, sizeof(Variable));
    from = kept;
  }
  return cudaMemcpyToSymbolAsync(variable, from, sizeof(Variable), 0, kind, stream);
}
//% end
