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
@CHECKED_TO_REAL@
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
@WITHIN_REALS@
// Whether none is null and all are multiples of `bytes`.
inline bool aligned(std::initializer_list<const void*> addresses, std::uintptr_t bytes) {
  for (const void* address : addresses) {
    if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return false;
  }
  return true;
}

// The launch is of a size that was accepted.
inline cudaError_t start(const void* kernel, const Launch& launch, void** arguments, cudaStream_t stream) {
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

const std::string_view kCheckedToReal =
    R"cuda(  explicit operator double() const { return static_cast<double>(value_); }
)cuda";

const std::string_view kWithinReals = R"cuda(
inline bool within_reals(std::initializer_list<double> values, double least, double most) {
  for (const double value : values) {
    if (!(value >= least && value <= most)) return false;
  }
  return true;
}
)cuda";

const std::string_view kSharedMemoryHelper = R"cuda(
// Over 48 KB of shared memory must be allowed, for each kernel in each context. Any call may be the first in its context
// (another device, a device that was reset): nothing is remembered.
inline cudaError_t allow_shared_memory(const void* kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
)cuda";

const std::string_view kMoreSharedMemoryHelper = R"cuda(
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
)cuda";

const std::string_view kTensorMapHelper = R"cuda(
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
)cuda";

const std::string_view kFillHelper = R"cuda(
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
#include <limits>
#include <string>
#include <vector>
)cuda";

const std::string_view kMainTypes = R"cuda(
namespace @MAIN@ {

enum class DType { @DTYPES@ };

// What an output may differ from the reference by; 0: not checked.
struct Limits {
  double relative_l2, cosine, max_abs, row_l2, atol, rtol;
  bool exact;  // Every element equals the reference's; the others are not looked at.
};
@DRAW_TYPE@
struct Tensor {
  const char* name;
  DType dtype;
  bool output;
  std::vector<long long> dims;          // Outermost first.
  std::vector<long long> strides = {};  // In elements. Empty: densely packed.
  int scale = -1;                       // Index of the tensor that holds the scales of this one; -1: none.
  int zero_point = -1;                  // Index of the tensor that holds its zero points; -1: none.
  bool computed = false;                // Holds scales or zero points of an input.
  bool inout = false;                   // An output that holds drawn values before a call.
  DType wanted = DType::f32;            // An output as the reference writes it.
  Limits limits = {};
@DRAW_FIELDS@@EQUAL_FIELD@};

struct Claim {
  const char* shape;
  long long parameters[@RANK@];
  double us;
};
)cuda";

const std::string_view kMainDrawType = R"cuda(
// How the elements of a tensor are drawn; regime: N(0, 1).
enum class Draw { regime, constant, list, iota, uniform, normal, non_negative, integers, permutation, shuffle, offsets, page_table, bits, file };
)cuda";

const std::string_view kMainDrawFields = R"cuda(  Draw draw = Draw::regime;
  std::vector<double> numbers = {};
  const unsigned char* file = nullptr;
  size_t file_bytes = 0;
)cuda";

const std::string_view kMainEqualField =
    R"cuda(  int any_of_equal = -1;  // Its indices may be those of any equal element of a row of this input.
)cuda";

const std::string_view kMainData = R"cuda(
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
)cuda";

const std::string_view kMainScales = R"cuda(
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
@AFFINE_U8@  return ratio;
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
@NEXT_POWER@    if (has_zero_point) store_at(tensors[zero_index].dtype, elements[zero_index], g, made.zero_point);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t g = static_cast<size_t>(groups.of(static_cast<long long>(i)));
    const float scale = static_cast<float>(load_at(tensors[scale_index].dtype, elements[scale_index], g));
    const double code = has_zero_point ? values[i] / scale + load_at(tensors[zero_index].dtype, elements[zero_index], g)
                                       : scaled_by(tensor.dtype, values[i], scale);
    store_at(tensor.dtype, elements[index], i, code);
  }
}
)cuda";

const std::string_view kMainNextPower =
    R"cuda(    // The next larger power of two, so that the largest value keeps its code.
    const double stored = load_at(scale_dtype, elements[scale_index], g);
    if (scale_dtype == DType::e8m0 && stored < made.scale) store_at(scale_dtype, elements[scale_index], g, 2 * stored);
)cuda";

const std::string_view kMainDrawByKind = R"cuda(
inline std::vector<long long> shuffled(long long size, Random& random) {
  std::vector<long long> order(static_cast<size_t>(size));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<long long>(i);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.bits() % i]);
  return order;
}

// 0 first, numbers[0] last, what does not fall between them; one in four repeats its neighbour.
inline std::vector<double> offsets(size_t size, double total, Random& random) {
  std::vector<double> cuts(size, 0.0);
  for (double& cut : cuts) cut = std::floor(random.unit() * (total + 1));
  cuts.front() = 0;
  cuts.back() = total;
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = 1; i + 1 < size; ++i) {
    if (random.bits() % 4 == 0) cuts[i] = cuts[i - 1];
  }
  return cuts;
}

inline void draw_by_kind(const Tensor& tensor, uint64_t seed, Bytes& elements) {
  Random random(seed);
  const long long size = count(tensor);
  const std::vector<double>& numbers = tensor.numbers;
  const auto each = [&](auto value) {
    for (long long i = 0; i < size; ++i) store_at(tensor.dtype, elements, static_cast<size_t>(i), value(static_cast<size_t>(i)));
  };
  switch (tensor.draw) {
    case Draw::constant: return each([&](size_t) { return numbers[0]; });
    case Draw::list: return each([&](size_t i) { return i < numbers.size() ? numbers[i] : 0.0; });
    case Draw::iota: return each([&](size_t i) { return numbers[0] + static_cast<double>(i) * numbers[1]; });
    case Draw::uniform:
      return each([&](size_t) {
        const double value = numbers[0] + random.unit() * (numbers[1] - numbers[0]);
        return is_integer(tensor.dtype) ? std::floor(value) : value;
      });
    case Draw::normal: return each([&](size_t) { return numbers[0] + random.normal() * numbers[1]; });
    case Draw::non_negative: return each([&](size_t) { return std::fabs(static_cast<double>(random.normal())); });
    case Draw::integers:
      return each([&](size_t) { return std::min(numbers[1], numbers[0] + std::floor(random.unit() * (numbers[1] - numbers[0] + 1))); });
    case Draw::permutation:
    case Draw::shuffle: {
      const size_t length = static_cast<size_t>(tensor.draw == Draw::shuffle ? size : row_of(tensor));
      std::vector<long long> order;
      return each([&](size_t i) {
        if (i % length == 0) order = shuffled(static_cast<long long>(length), random);
        return static_cast<double>(order[i % length]);
      });
    }
    case Draw::offsets: {
      const std::vector<double> cuts = offsets(static_cast<size_t>(size), numbers[0], random);
      return each([&](size_t i) { return cuts[i]; });
    }
    case Draw::page_table: {
      const std::vector<long long> order = shuffled(static_cast<long long>(numbers[0]), random);
      return each([&](size_t i) { return static_cast<double>(order[i % order.size()]); });
    }
    case Draw::file:
      if (tensor.file_bytes != elements.size()) {
        std::fprintf(stderr, "%s: its file has %zu bytes, this shape wants %zu\n", tensor.name, tensor.file_bytes, elements.size());
        std::exit(2);
      }
      std::memcpy(elements.data(), tensor.file, tensor.file_bytes);
      return;
    default:
      for (unsigned char& byte : elements) byte = static_cast<unsigned char>(random.bits());
  }
}
)cuda";

const std::string_view kMainDraw = R"cuda(
// N(0, 1) where nothing else is said, quantised where there are scales.
inline void draw(const std::vector<Tensor>& tensors, size_t index, std::vector<Bytes>& elements) {
  const Tensor& tensor = tensors[index];
@DRAWN_BY_KIND@  Random random(index + 1);
  std::vector<float> values(static_cast<size_t>(count(tensor)));
  for (float& value : values) value = random.normal();
@QUANTISED@  for (size_t i = 0; i < values.size(); ++i) store_at(tensor.dtype, elements[index], i, values[i]);
}
)cuda";

const std::string_view kMainCompare = R"cuda(
struct Difference {
  double relative_l2 = 0;
  double cosine = 1;
  double max_abs = 0;      // Relative to the reference's root mean square.
  double row_l2 = 0;       // The largest of a row, relative to the larger of that row's norm and the mean one.
  long long beyond = 0;    // Elements beyond atol + rtol |want|.
  long long unequal = 0;
  bool finite = true;
  bool reference_finite = true;
};

// What the reference writes and what a call wrote, one after the other; `got_at` gives an element's real value.
template <class GotAt>
Difference compare(const Tensor& tensor, const Bytes& got, const Bytes& want, GotAt got_at) {
  const size_t size = static_cast<size_t>(count(tensor)), row = static_cast<size_t>(row_of(tensor));
  double error = 0, norm = 0, got_norm = 0, dot = 0, most = 0, row_error = 0, row_norm = 0, norms = 0;
  std::vector<double> row_errors, row_norms;
  Difference difference;
  for (size_t i = 0; i < size; ++i) {
    const double g = got_at(i);
    const double w = load_at(tensor.wanted, want, i);
    difference.finite = difference.finite && std::isfinite(g);
    difference.reference_finite = difference.reference_finite && std::isfinite(w);
    const bool same = is_integer(tensor.dtype) && tensor.dtype == tensor.wanted && tensor.scale < 0
                          ? std::memcmp(&got[i * size_of(tensor.dtype)], &want[i * size_of(tensor.dtype)], size_of(tensor.dtype)) == 0
                          : g == w;
    difference.unequal += !same;
    difference.beyond += !(std::fabs(g - w) <= tensor.limits.atol + tensor.limits.rtol * std::fabs(w));
    row_error += (g - w) * (g - w);
    row_norm += w * w;
    got_norm += g * g;
    dot += g * w;
    most = std::max(most, std::fabs(g - w));
    if ((i + 1) % row != 0) continue;
    error += row_error;
    norm += row_norm;
    norms += std::sqrt(row_norm);
    row_errors.push_back(std::sqrt(row_error));
    row_norms.push_back(std::sqrt(row_norm));
    row_error = row_norm = 0;
  }
  for (size_t r = 0; r < row_errors.size() && row_errors.size() > 1; ++r) {
    const double scale = std::max(row_norms[r], norms / static_cast<double>(row_norms.size()));
    if (row_errors[r] > 0) difference.row_l2 = std::max(difference.row_l2, row_errors[r] / scale);
  }
  if (norm > 0) {
    difference.relative_l2 = std::sqrt(error / norm);
    difference.cosine = got_norm > 0 ? dot / std::sqrt(norm * got_norm) : 0.0;
    difference.max_abs = most / std::sqrt(norm / static_cast<double>(size));
  } else if (error > 0) {
    difference.relative_l2 = difference.max_abs = INFINITY;
    difference.cosine = 0;
  }
  return difference;
}

inline bool within_limits(const Difference& d, const Limits& limits) {
  if (!d.finite || !d.reference_finite) return false;
  if (limits.exact) return d.unequal == 0;
  return std::isfinite(d.max_abs) && (limits.relative_l2 == 0 || d.relative_l2 <= limits.relative_l2) &&
         d.cosine >= (limits.cosine == 0 ? -1.0 : limits.cosine) && (limits.max_abs == 0 || d.max_abs <= limits.max_abs) &&
         (limits.row_l2 == 0 || d.row_l2 <= limits.row_l2) &&
         ((limits.atol == 0 && limits.rtol == 0) || d.beyond == 0);
}
)cuda";

const std::string_view kMainEqual = R"cuda(
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
)cuda";

const std::string_view kMainBuffers = R"cuda(
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
)cuda";

const std::string_view kMainGotAt =
    R"cuda(    const auto at = [&](size_t element) { return load_at(tensor.dtype, got, element); };
)cuda";

const std::string_view kMainScaledGotAt =
    R"cuda(    const size_t scale = static_cast<size_t>(std::max(tensor.scale, 0));
    const Tensor& scales = tensors[scale];
    const Bytes scale_elements = tensor.scale < 0 ? Bytes() : download(buffers[scale], scales, scales.dtype);
    const Groups groups(tensor, scales);
@ZERO_ELEMENTS@    const auto at = [&](size_t element) {
      @CODE_TYPE@double code = load_at(tensor.dtype, got, element);
      if (tensor.scale < 0) return code;
      const size_t group = static_cast<size_t>(groups.of(static_cast<long long>(element)));
@MINUS_ZERO@      return static_cast<double>(static_cast<float>(code * load_at(scales.dtype, scale_elements, group)));
    };
)cuda";

const std::string_view kMainZeroElements =
    R"cuda(    const Tensor& zeros = tensors[static_cast<size_t>(std::max(tensor.zero_point, 0))];
    const Bytes zero_elements = tensor.zero_point < 0 ? Bytes() : download(buffers[static_cast<size_t>(tensor.zero_point)], zeros, zeros.dtype);
)cuda";

const std::string_view kMainMinusZero =
    R"cuda(      if (tensor.zero_point >= 0) code -= load_at(zeros.dtype, zero_elements, group);
)cuda";

const std::string_view kMainInout = R"cuda(
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
)cuda";

const std::string_view kMainRun = R"cuda(
// A limit as it is printed.
inline double limit_of(double limit) { return limit == 0 ? INFINITY : limit; }

// Compares every output with the reference's. `when` says at which point of the program.
inline bool right(const std::vector<Tensor>& tensors, const Buffers& buffers, @EQUAL_PARAMETER@const std::vector<Bytes>& wanted, const char* when) {
  bool all = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (!tensor.output) continue;
    const Limits& limits = tensor.limits;
    bool untouched = true;
    Bytes got = download(buffers[i], tensor, tensor.dtype, &untouched);
@ACCEPT_EQUAL@@GOT_AT@    const Difference d = compare(tensor, got, wanted[i], at);
    const bool ok = untouched && within_limits(d, limits);
    const char* judgement = ok                    ? "right"
                            : !d.reference_finite ? "WRONG (the reference is not finite)"
                            : !d.finite           ? "WRONG (not finite)"
                            : !untouched          ? "WRONG (written between its rows)"
                                                  : "WRONG";
    if (limits.exact) {
      std::printf("  %-6s %-12s %lld of %lld elements differ: %s\n", tensor.name, when, d.unequal, count(tensor), judgement);
    } else {
      std::printf("  %-6s %-12s relative L2 error %.3e (limit %.1e), of a row %.3e (limit %.1e), cosine %.6f, max error %.3f of rms",
                  tensor.name, when, d.relative_l2, limit_of(limits.relative_l2), d.row_l2, limit_of(limits.row_l2), d.cosine, d.max_abs);
      if (limits.atol > 0 || limits.rtol > 0) std::printf(", %lld elements beyond %.1e + %.1e |want|", d.beyond, limits.atol, limits.rtol);
      std::printf(": %s\n", judgement);
    }
    all = all && ok;
  }
  return all;
}

// Medians and percentiles of one call in a graph of 20, of which the GPU has run 100 ms before: where the power limit lowers
// its clocks under load, it has done so by then.
inline void time_calls(const Buffers& buffers, void* workspace, const long long* p) {
  const int calls = 20, replays = 101;
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < calls; ++i) check(call(buffers.addresses(), workspace, p, stream), "@LAUNCHER@ in a graph");
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
    check(cudaDeviceSynchronize(), "@LAUNCHER@ in a graph");
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
  std::printf("  warm latency %.2f us (5 %% to 95 %%: %.2f to %.2f us)", median, us[us.size() / 20], us[us.size() * 19 / 20]);
  if (flops(p) > 0) std::printf(", %.2f TFLOP/s", flops(p) / median * 1e-6);
  std::printf("\n");
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

// A buffer between two strips that nothing may write to.
class Guarded {
 public:
  Guarded(Buffers& buffers, size_t bytes) : bytes_(bytes), begin_(static_cast<unsigned char*>(buffers.add(bytes + 2 * kStrip))) {}
  void* address() const { return begin_ + kStrip; }
  bool untouched() const {
    Bytes strips(2 * kStrip);
    check(cudaMemcpy(strips.data(), begin_, kStrip, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemcpy(strips.data() + kStrip, begin_ + kStrip + bytes_, kStrip, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return std::all_of(strips.begin(), strips.end(), [](unsigned char byte) { return byte == 0xff; });
  }

 private:
  static constexpr size_t kStrip = 4096;
  size_t bytes_;
  unsigned char* begin_;
};

// What the launcher must refuse, with cudaErrorInvalidValue and without any other effect: sizes that are not positive or
// not supported, and addresses that are null or not aligned.
class Refusals {
 public:
  Refusals(const std::vector<Tensor>& tensors, const Buffers& buffers, void* workspace, const long long* p)
      : addresses_(buffers.addresses()), workspace_(workspace), p_(p, p + @RANK@) {
    const size_t needed = workspace_bytes(p);
    for (size_t k = 0; k < @RANK@; ++k) {
      for (const long long size : {0LL, -1LL, p[k] - 1, p[k] + 1, 2 * p[k], 2147483647LL}) refuses_size(k, size);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      refuses_address(tensors[i].name, addresses_[i], nullptr, " = null");
      refuses_address(tensors[i].name, addresses_[i], static_cast<char*>(addresses_[i]) + @MISALIGNED@, " @MISALIGNED@ bytes further");
    }
    if (needed > 0) {
      refuses_address("workspace", workspace_, nullptr, " = null");
      refuses_address("workspace", workspace_, static_cast<char*>(workspace_) + 16, " 16 bytes further");
    }
    const cudaError_t ended = cudaDeviceSynchronize(), last = cudaGetLastError();
    if (ended != cudaSuccess || last != cudaSuccess) note(std::string("a call that left an error: ") + cudaGetErrorString(ended != cudaSuccess ? ended : last));
  }

  bool right() const {
    std::printf("  refusals     %d calls that must be refused: %s\n", calls_, wrong_.empty() ? "right" : ("WRONG, accepted " + wrong_).c_str());
    return wrong_.empty();
  }

 private:
  void refuses_size(size_t k, long long size) {
    const long long kept = p_[k];
    p_[k] = size;
    if (size < 1 || !supported(p_.data())) {
      refuses(parameter_names[k] + "=" + std::to_string(size));
      if (workspace_bytes(p_.data()) != 0) note("a workspace for " + parameter_names[k] + "=" + std::to_string(size));
    }
    p_[k] = kept;
  }

  void refuses_address(const std::string& name, void*& place, void* address, const std::string& what) {
    void* const kept = place;
    place = address;
    refuses(name + what);
    place = kept;
  }

  void refuses(const std::string& what) {
    ++calls_;
    if (call(addresses_, workspace_, p_.data(), nullptr) != cudaErrorInvalidValue) note(what);
  }

  void note(const std::string& accepted) {
    if (wrong_.empty()) wrong_ = accepted;
  }

  std::vector<void*> addresses_;
  void* workspace_;
  std::vector<long long> p_;
  int calls_ = 0;
  std::string wrong_;
};

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

// Whether a call is right whose tensors begin no more than @ALIGNMENT@ bytes behind a multiple of 256, as views do.
inline bool right_for_views(const std::vector<Tensor>& tensors, const std::vector<Bytes>& elements, void* workspace, const long long* p, const std::vector<Bytes>& wanted) {
  Buffers views(@ALIGNMENT@);
  for (size_t i = 0; i < tensors.size(); ++i) {
    views.add(bytes_for(tensors[i].dtype, extent(tensors[i])));
    if (!tensors[i].output@OR_INOUT@) upload(views[i], tensors[i], tensors[i].dtype, elements[i]);
  }
  check(call(views.addresses(), workspace, p, nullptr), "@LAUNCHER@ of views");
  check(cudaDeviceSynchronize(), "@LAUNCHER@ of views");
  return right(tensors, views, @EQUAL_ARGUMENT@wanted, "of views");
}

inline int run(const long long* p, bool timed) {
  const std::vector<Tensor> tensors = tensors_of(p);
  std::vector<Bytes> elements;
  for (const Tensor& tensor : tensors) elements.emplace_back(bytes_for(tensor.dtype, count(tensor)));
  Buffers buffers, oracle;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if ((!tensors[i].output || tensors[i].inout) && !tensors[i].computed) draw(tensors, i, elements);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    buffers.add(bytes_for(tensor.dtype, extent(tensor)));
    oracle.add(tensor.output ? bytes_for(tensor.wanted, extent(tensor)) : 0);
    if (!tensor.output) upload(buffers[i], tensor, tensor.dtype, elements[i]);
  }
@ORACLE_INOUT@  check(reference(buffers, oracle, p), "reference");
  check(cudaDeviceSynchronize(), "reference");
  std::vector<Bytes> wanted(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].output) wanted[i] = download(oracle[i], tensors[i], tensors[i].wanted);
  }

  const Guarded guarded(buffers, workspace_bytes(p));
  void* const workspace = guarded.address();
@RESTORE@  check(call(buffers.addresses(), workspace, p, nullptr), "@LAUNCHER@");
  check(cudaDeviceSynchronize(), "@LAUNCHER@");
  if (!right(tensors, buffers, @EQUAL_ARGUMENT@wanted, "first call")) return 1;
  if (!right_for_views(tensors, elements, workspace, p, wanted)) return 1;
  if (!guarded.untouched()) return std::printf("  workspace    WRONG (written beyond its %zu bytes)\n", workspace_bytes(p)), 1;
  if (!Refusals(tensors, buffers, workspace, p).right()) return 1;
  if (!timed) return 0;
  time_calls(buffers, workspace, p);
@CALL_AGAIN@  return right(tensors, buffers, @EQUAL_ARGUMENT@wanted, "after timing") ? 0 : 1;
}

}  // namespace @MAIN@

int main(int argc, char** argv) {
  using namespace @MAIN@;
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
