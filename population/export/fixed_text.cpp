#include "population/export/fixed_text.h"

namespace evo {

// ---- Host helpers

const std::string_view kHostHelpers = R"cuda(
// ---- Host side. It is the family's launch plan with this kernel's genes folded into it.

namespace @HOST@ {

struct Launch {
  long long grid[3];
  long long block[3];
  long long cluster[3];
  long long dynamic_smem_bytes;
  bool programmatic;  // May start before the launch ahead of it in the stream has ended.
};

// A whole number whose arithmetic is watched: *exact becomes false where a result is undefined or needs more than 64 bits.
class Checked {
 public:
  Checked(long long value, bool* exact = nullptr) : value_(value), exact_(exact) {}
  explicit operator unsigned long long() const { return value_ > 0 ? Bits(value_) : Bits(result(*this, *this, false, 0).value_ + 1); }

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

// How much dynamic shared memory a kernel was allowed so far, for each device. It is only ever raised.
struct SharedMemoryLimit {
  std::mutex raising;
  std::atomic<long long> bytes[64];
};

// Anything over 48 KB has to be asked for, once for each kernel and device.
inline cudaError_t allow_shared_memory(const void* kernel, long long bytes, SharedMemoryLimit& limit) {
  int device = 0;
  const cudaError_t found = cudaGetDevice(&device);
  if (found != cudaSuccess) return found;
  const bool known = device < 64;
  if (known && limit.bytes[device].load(std::memory_order_acquire) >= bytes) return cudaSuccess;
  const std::lock_guard<std::mutex> alone(limit.raising);
  if (known && limit.bytes[device].load(std::memory_order_relaxed) >= bytes) return cudaSuccess;
  const cudaError_t set =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (set == cudaSuccess && known) limit.bytes[device].store(bytes, std::memory_order_release);
  return set;
}

// The launch is of a size that was accepted.
inline cudaError_t start(const void* kernel, const Launch& launch, void** arguments, SharedMemoryLimit& limit,
                         cudaStream_t stream) {
  if (launch.dynamic_smem_bytes > 0) {
    const cudaError_t allowed = allow_shared_memory(kernel, launch.dynamic_smem_bytes, limit);
    if (allowed != cudaSuccess) return allowed;
  }

  cudaLaunchAttribute attributes[2] = {};
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
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
)cuda";

const std::string_view kTensorMapHelper = R"cuda(
// cuTensorMapEncodeTiled comes from the driver through the runtime, so that nothing but cudart is linked.
inline cudaError_t encode(CUtensorMap* map, CUtensorMapDataType type, int rank, const void* address,
                          const long long* dims, const long long* strides_bytes, const long long* box,
                          long long swizzle_bytes) {
  static void* const entry = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? found : nullptr;
  }();
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
)cuda";

// ---- What -DEVO_MAIN adds

const std::string_view kMainHead = R"cuda(
#ifdef EVO_MAIN
// ---- A program that checks the launcher against a plain reference and times it.
// Exit code 0: right; 1: wrong; 2: wrong arguments; 3: no GPU, or CUDA failed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
)cuda";

const std::string_view kMainTypes = R"cuda(
namespace evo_main {

enum class DType { u8, s8, s32, e4m3, e5m2, f16, bf16, f32, f64 };

struct Tensor {
  const char* name;
  DType dtype;
  bool output;
  long long count;
  int scale;         // Index of the tensor that holds the scales of this one; -1: none.
  bool holds_scales;
};

struct Claim {
  const char* shape;
  long long parameters[@RANK@];
  double us;
};
)cuda";

const std::string_view kMainData = R"cuda(
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(3);
}

inline size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::s8:
    case DType::e4m3:
    case DType::e5m2: return 1;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::s32:
    case DType::f32: return 4;
    case DType::f64: return 8;
  }
  return 0;
}

// The largest real value of a code, which a group's largest magnitude is scaled to. u8 with a scale is an affine code:
// 0 to 255 stand for -448 to 448.
inline float largest(DType dtype) {
  switch (dtype) {
    case DType::e5m2: return 57344.0F;
    case DType::s8: return 127.0F;
    default: return 448.0F;
  }
}

// N(0, 1), the same numbers on every run (SplitMix64, Box and Muller's method).
class Normal {
 public:
  explicit Normal(uint64_t seed) : state_(seed) {}
  float next() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    return static_cast<float>(radius * std::cos(6.283185307179586 * unit()));
  }

 private:
  double unit() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  }
  uint64_t state_;
};

template <class T>
void store(unsigned char* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

// `value` relative to its scale, as the code's number.
inline float scaled_by(DType dtype, float value, float scale) {
  const float ratio = value / scale;
  return dtype == DType::u8 ? 127.5F + ratio * (255.0F / 896.0F) : ratio;
}

inline void encode(DType dtype, float value, unsigned char* to) {
  switch (dtype) {
    case DType::u8: *to = static_cast<unsigned char>(std::min(255.0F, std::max(0.0F, std::nearbyint(value)))); break;
    case DType::s8: store(to, static_cast<signed char>(std::min(127.0F, std::max(-128.0F, std::nearbyint(value))))); break;
    case DType::s32: store(to, static_cast<int>(std::nearbyint(value))); break;
    case DType::e4m3: *to = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3); break;
    case DType::e5m2: *to = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2); break;
    case DType::f16: store(to, __float2half_rn(value)); break;
    case DType::bf16: store(to, __float2bfloat16_rn(value)); break;
    case DType::f32: store(to, value); break;
    case DType::f64: store(to, static_cast<double>(value)); break;
  }
}

template <class T>
T load(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline double decode(DType dtype, const unsigned char* from) {
  switch (dtype) {
    case DType::u8: return *from;
    case DType::s8: return load<signed char>(from);
    case DType::s32: return load<int>(from);
    case DType::e4m3: return __half2float(__half(__nv_cvt_fp8_to_halfraw(*from, __NV_E4M3)));
    case DType::e5m2: return __half2float(__half(__nv_cvt_fp8_to_halfraw(*from, __NV_E5M2)));
    case DType::f16: return __half2float(load<__half>(from));
    case DType::bf16: return __bfloat162float(load<__nv_bfloat16>(from));
    case DType::f32: return load<float>(from);
    case DType::f64: return load<double>(from);
  }
  return NAN;
}

// Draws one input and quantises it: each group of elements that share a scale is scaled to the largest code; a group of
// zeros has scale 1.
inline void draw(const std::vector<Tensor>& tensors, size_t index, std::vector<std::vector<unsigned char>>& bytes) {
  const Tensor& tensor = tensors[index];
  if (tensor.holds_scales) return;
  const long long groups = tensor.scale < 0 ? 1 : tensors[static_cast<size_t>(tensor.scale)].count;
  const long long group = tensor.count / groups;
  Normal normal(index + 1);
  std::vector<float> values(static_cast<size_t>(group));
  for (long long g = 0; g < groups; ++g) {
    float most = 0;
    for (float& value : values) {
      value = normal.next();
      most = std::max(most, std::fabs(value));
    }
    const float scale = tensor.scale < 0 ? 1.0F : most > 0 ? most / largest(tensor.dtype) : 1.0F;
    if (tensor.scale >= 0) store(&bytes[static_cast<size_t>(tensor.scale)][static_cast<size_t>(g) * 4], scale);
    for (long long i = 0; i < group; ++i) {
      const float value = values[static_cast<size_t>(i)];
      encode(tensor.dtype, tensor.scale < 0 ? value : scaled_by(tensor.dtype, value, scale),
             &bytes[index][static_cast<size_t>(g * group + i) * size_of(tensor.dtype)]);
    }
  }
}

struct Difference {
  double relative_l2 = 0;
  double cosine = 1;
  double max_abs = 0;  // Relative to the reference's root mean square.
  bool finite = true;
  bool reference_finite = true;
};

inline Difference compare(const Tensor& tensor, const std::vector<unsigned char>& got, const std::vector<float>& want) {
  double error = 0, norm = 0, got_norm = 0, dot = 0, most = 0;
  Difference difference;
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = decode(tensor.dtype, &got[i * size_of(tensor.dtype)]);
    const double w = want[i];
    difference.finite = difference.finite && std::isfinite(g);
    difference.reference_finite = difference.reference_finite && std::isfinite(w);
    error += (g - w) * (g - w);
    norm += w * w;
    got_norm += g * g;
    dot += g * w;
    most = std::max(most, std::fabs(g - w));
  }
  if (norm > 0) {
    difference.relative_l2 = std::sqrt(error / norm);
    difference.cosine = got_norm > 0 ? dot / std::sqrt(norm * got_norm) : 0.0;
    difference.max_abs = most / std::sqrt(norm / static_cast<double>(want.size()));
  } else if (error > 0) {
    difference.relative_l2 = difference.max_abs = INFINITY;
    difference.cosine = 0;
  }
  return difference;
}

// Device memory by index.
class Buffers {
 public:
  Buffers() = default;
  ~Buffers() {
    for (void* buffer : addresses_) cudaFree(buffer);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  void* add(size_t bytes) {
    const size_t size = std::max<size_t>(bytes, 1);
    void* buffer = nullptr;
    check(cudaMalloc(&buffer, size), "cudaMalloc");
    addresses_.push_back(buffer);
    // Not-a-number in every floating point format: what is not written cannot look right.
    check(cudaMemset(buffer, 0xff, size), "cudaMemset");
    return buffer;
  }
  void* operator[](size_t index) const { return addresses_[index]; }

 private:
  std::vector<void*> addresses_;
};
)cuda";

const std::string_view kMainRun = R"cuda(
// Compares every output with the reference's. `when` says at which point of the program.
inline bool right(const std::vector<Tensor>& tensors, const Buffers& buffers,
                  const std::vector<std::vector<float>>& wanted, const char* when) {
  const double limit = @RELATIVE_L2@, least_cosine = @COSINE@, most_abs = @MAX_ABS@;
  bool all = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (!tensor.output) continue;
    std::vector<unsigned char> got(static_cast<size_t>(tensor.count) * size_of(tensor.dtype));
    check(cudaMemcpy(got.data(), buffers[i], got.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    const Difference d = compare(tensor, got, wanted[i]);
    const bool ok = d.finite && d.reference_finite && d.relative_l2 <= limit && d.cosine >= least_cosine &&
                    (most_abs == 0 || d.max_abs <= most_abs);
    const char* judgement = ok                    ? "right"
                            : !d.reference_finite ? "WRONG (the reference is not finite)"
                            : !d.finite           ? "WRONG (not finite)"
                                                  : "WRONG";
    std::printf("  %-6s %-12s relative L2 error %.3e (limit %.1e), cosine %.6f, max error %.3f of rms: %s\n", tensor.name, when,
                d.relative_l2, limit, d.cosine, d.max_abs, judgement);
    all = all && ok;
  }
  return all;
}

// Medians and percentiles of one call in a graph of 20, of which the GPU has run 100 ms before: where the power limit lowers
// its clocks under load, it has done so by then.
inline void time_calls(const std::vector<Tensor>& tensors, const Buffers& buffers, void* workspace, const long long* p) {
  const int calls = 20, replays = 101;
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < calls; ++i) check(call(buffers, workspace, p, stream), "evo_@TASK@ in a graph");
  cudaGraph_t graph;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable;
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  const auto warm = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  do {
    check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    check(cudaDeviceSynchronize(), "evo_@TASK@ in a graph");
  } while (std::chrono::steady_clock::now() < warm);
  std::vector<double> us;
  for (int i = 0; i < replays; ++i) {
    check(cudaEventRecord(begin, stream), "cudaEventRecord");
    check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    us.push_back(1000.0 * ms / calls);
  }
  std::sort(us.begin(), us.end());
  const double median = us[us.size() / 2];
  std::printf("  warm latency %.2f us (5 %% to 95 %%: %.2f to %.2f us), %.2f TFLOP/s\n", median, us[us.size() / 20],
              us[us.size() * 19 / 20], flops(p) / median * 1e-6);
  for (const Claim& claim : claims) {
    if (std::equal(p, p + @RANK@, claim.parameters)) {
      std::printf("  claimed      %.2f us (%s, %s)\n", claim.us, claim.shape, @CLAIMANT@);
    }
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

// "1,8,512,64" or "B=1,S=77"; what is not named keeps its value.
inline bool parse(const char* text, long long* p) {
  int position = 0;
  for (const char* at = text; *at != 0; ++position) {
    const char* equals = std::strchr(at, '=');
    const char* comma = std::strchr(at, ',');
    int index = position;
    if (equals != nullptr && (comma == nullptr || equals < comma)) {
      const std::string name(at, equals);
      index = static_cast<int>(std::find(parameter_names, parameter_names + @RANK@, name) - parameter_names);
      at = equals + 1;
    }
    if (index >= @RANK@) return false;
    char* stop = nullptr;
    p[index] = std::strtoll(at, &stop, 10);
    if (stop == at || (*stop != 0 && *stop != ',') || p[index] < 1 || p[index] > 2147483647LL) return false;
    at = *stop == ',' ? stop + 1 : stop;
  }
  return true;
}

inline int run(const long long* p, bool timed) {
  const std::vector<Tensor> tensors = tensors_of(p);
  std::vector<std::vector<unsigned char>> bytes;
  for (const Tensor& tensor : tensors) bytes.emplace_back(static_cast<size_t>(tensor.count) * size_of(tensor.dtype));
  Buffers buffers, oracle;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].output) draw(tensors, i, bytes);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    buffers.add(bytes[i].size());
    oracle.add(tensors[i].output ? static_cast<size_t>(tensors[i].count) * sizeof(float) : 0);
    if (!tensors[i].output) check(cudaMemcpy(buffers[i], bytes[i].data(), bytes[i].size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  check(reference(buffers, oracle, p), "reference");
  check(cudaDeviceSynchronize(), "reference");
  std::vector<std::vector<float>> wanted(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].output) continue;
    wanted[i].resize(static_cast<size_t>(tensors[i].count));
    check(cudaMemcpy(wanted[i].data(), oracle[i], wanted[i].size() * sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

  void* workspace = buffers.add(workspace_bytes(p));
  check(call(buffers, workspace, p, nullptr), "evo_@TASK@");
  check(cudaDeviceSynchronize(), "evo_@TASK@");
  if (!right(tensors, buffers, wanted, "first call")) return 1;
  if (!timed) return 0;
  time_calls(tensors, buffers, workspace, p);
  return right(tensors, buffers, wanted, "after timing") ? 0 : 1;
}

}  // namespace evo_main

int main(int argc, char** argv) {
  using namespace evo_main;
  long long shapes[][@RANK@] = {@DEFAULT_SHAPES@};
  size_t count = sizeof shapes / sizeof shapes[0];
  // "check" last: one call, not timed. What compute-sanitizer needs, which makes each launch many times slower.
  const bool timed = argc < 2 || std::strcmp(argv[argc - 1], "check") != 0;
  const int given = argc - 1 - (timed ? 0 : 1);
  if (given > 1 || (given == 1 && !parse(argv[1], shapes[0])) || !supported(shapes[0])) {
    std::fprintf(stderr, "usage: %s [@USAGE@] [check]@SUPPORTED@\n", argv[0]);
    return 2;
  }
  if (given == 1) count = 1;
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "no GPU");
  int code = 0;
  for (size_t i = 0; i < count; ++i) {
    const long long* p = shapes[i];
    std::printf("@TASK@");
    for (int k = 0; k < @RANK@; ++k) std::printf(" %s=%lld", parameter_names[k].c_str(), p[k]);
@KERNEL_NUMBER@    std::printf(" on %s\n", device.name);
    if (run(p, timed) != 0) code = 1;
  }
  return code;
}
#endif  // EVO_MAIN
)cuda";

}  // namespace evo
