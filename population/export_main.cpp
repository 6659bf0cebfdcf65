// One subject: what -DEVO_MAIN adds to an exported file, a program that checks the launcher against the
// task's reference and times it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "population/export_parts.h"

namespace evo {
namespace {

constexpr std::string_view kHead = R"cuda(
#ifdef EVO_MAIN
// ---- A program that checks the launcher against a plain reference and times it.
// Exit code 0: right; 1: wrong; 2: wrong arguments; 3: no GPU, or CUDA failed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
)cuda";

constexpr std::string_view kTypes = R"cuda(
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

constexpr std::string_view kData = R"cuda(
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

// The largest real value of a code, which a group's largest magnitude is scaled to. u8 is an affine code: 0 to 255 stand
// for -448 to 448.
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

// `value` is relative to the scale.
inline void encode(DType dtype, float value, unsigned char* to) {
  switch (dtype) {
    case DType::u8: *to = static_cast<unsigned char>(std::min(255.0F, std::max(0.0F, std::nearbyint(128.0F + value * (255.0F / 896.0F))))); break;
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
      encode(tensor.dtype, values[static_cast<size_t>(i)] / scale,
             &bytes[index][static_cast<size_t>(g * group + i) * size_of(tensor.dtype)]);
    }
  }
}

struct Difference {
  double relative_l2 = 0;
  double cosine = 1;
  double max_abs = 0;  // Relative to the reference's root mean square.
  bool finite = true;
};

inline Difference compare(const Tensor& tensor, const std::vector<unsigned char>& got, const std::vector<float>& want) {
  double error = 0, norm = 0, got_norm = 0, dot = 0, most = 0;
  Difference difference;
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = decode(tensor.dtype, &got[i * size_of(tensor.dtype)]);
    const double w = want[i];
    difference.finite = difference.finite && std::isfinite(g);
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

constexpr std::string_view kRun = R"cuda(
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
    const bool ok = d.finite && d.relative_l2 <= limit && d.cosine >= least_cosine && (most_abs == 0 || d.max_abs <= most_abs);
    std::printf("  %-6s %-12s relative L2 error %.3e (limit %.1e), cosine %.6f, max error %.3f of rms: %s\n", tensor.name, when,
                d.relative_l2, limit, d.cosine, d.max_abs, ok ? "right" : d.finite ? "WRONG" : "WRONG (not finite)");
    all = all && ok;
  }
  return all;
}

// Medians and percentiles of one call in a graph of 20.
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
  for (int i = 0; i < 10; ++i) check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
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

inline int run(const long long* p) {
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
  time_calls(tensors, buffers, workspace, p);
  return right(tensors, buffers, wanted, "after timing") ? 0 : 1;
}

}  // namespace evo_main

int main(int argc, char** argv) {
  using namespace evo_main;
  long long p[@RANK@] = {@DEFAULT_SHAPE@};
  if (argc > 2 || (argc == 2 && !parse(argv[1], p)) || !supported(p)) {
    std::fprintf(stderr, "usage: %s [@USAGE@]@SUPPORTED@\n", argv[0]);
    return 2;
  }
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "no GPU");
  std::printf("@TASK@");
  for (int i = 0; i < @RANK@; ++i) std::printf(" %s=%lld", parameter_names[i].c_str(), p[i]);
  std::printf(" on %s\n", device.name);
  return run(p);
}
#endif  // EVO_MAIN
)cuda";

std::string c_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : comment_safe(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// Writes the functions of main that depend on the task.
class MainWriter {
 public:
  MainWriter(const ExportRequest& request, const std::vector<Specialised>& specialisations)
      : request_(request), task_(request.task), specialisations_(specialisations) {}

  std::string write() const {
    const std::string rank = std::to_string(task_.shape_parameters.size());
    const Provenance& provenance = request_.provenance;
    const std::string modelled = provenance.device.kind == "vgpu" ? "modelled, " : "";
    const std::vector<std::pair<std::string_view, std::string>> values = {
        {"@RANK@", rank},
        {"@TASK@", task_.name},
        {"@RELATIVE_L2@", limit(task_.limits.relative_l2, "INFINITY")},
        {"@COSINE@", limit(task_.limits.cosine, "-1.0")},
        {"@MAX_ABS@", limit(task_.limits.max_abs, "0.0")},
        {"@CLAIMANT@", c_literal(modelled + provenance.device.name)},
        {"@DEFAULT_SHAPE@", default_shape()},
        {"@USAGE@", fmt::format("{}", fmt::join(task_.shape_parameters, ","))},
        {"@SUPPORTED@", supported_text()},
    };
    return std::string(kHead) + references() + filled(kTypes, values) + tables() + std::string(kData) +
           calls() + filled(kRun, values);
  }

 private:
  static std::string limit(double value, std::string_view none) {
    return value == 0 ? std::string(none) : fmt::format("{:#}", value);
  }

  std::string parameters() const {
    std::string code;
    for (std::size_t i = 0; i < task_.shape_parameters.size(); ++i) {
      code += fmt::format("  [[maybe_unused]] const long long {} = p[{}];\n", task_.shape_parameters[i], i);
    }
    return code;
  }

  std::string values_of(const Shape& shape) const {
    std::vector<std::string> values;
    for (const std::string& name : task_.shape_parameters) {
      values.push_back(expr::to_string(shape.parameters.at(name)));
    }
    return fmt::format("{}", fmt::join(values, ", "));
  }

  std::string default_shape() const { return values_of(request_.provenance.target.timed.front()); }

  std::string supported_text() const {
    std::vector<std::string> texts;
    for (const Specialised& specialised : specialisations_) {
      if (!specialised.values.empty()) texts.push_back(condition_of(specialised));
    }
    return texts.empty() ? "" : fmt::format(", with {}", fmt::join(texts, " or "));
  }

  std::string references() const {
    std::string code;
    for (std::size_t i = 0; i < specialisations_.size(); ++i) {
      code += "\n" + kernel_block(request_.references[i].source, "", reference_space(specialisations_[i]),
                                  {task_.reference_kernel}, specialisations_[i].suffix);
    }
    return code;
  }

  static std::string reference_space(const Specialised& specialised) {
    return specialised.name_space + "_reference";
  }

  std::string claims() const {
    std::vector<std::string> rows;
    for (const Timing& timing : request_.provenance.timings) {
      if (timing.cold) continue;
      for (const Shape& shape : request_.provenance.target.timed) {
        if (shape.name != timing.shape) continue;
        rows.push_back(fmt::format("{{{}, {{{}}}, {:#.6g}}}", c_literal(shape.name), values_of(shape),
                                   timing.median_us));
      }
    }
    // C++ has no empty array.
    if (rows.empty()) rows.push_back("{\"\", {}, 0.0}");
    return fmt::format("\nconst Claim claims[] = {{{}}};\n", fmt::join(rows, ", "));
  }

  int index_of(const std::string& name) const {
    for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
      if (task_.inputs[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  bool holds_scales(const Tensor& tensor) const {
    return std::any_of(task_.inputs.begin(), task_.inputs.end(),
                       [&](const Tensor& t) { return t.scale == tensor.name; });
  }

  std::string tensor_row(const Tensor& tensor, bool output) const {
    const Bindings& options = request_.provenance.target.options;
    std::vector<std::string> dims;
    for (const Expression& dim : tensor.dims) dims.push_back(dim.to_cpp(options));
    if (dims.empty()) dims.emplace_back("1LL");
    return fmt::format("      {{{}, DType::{}, {}, {}, {}, {}}},\n", c_literal(tensor.name),
                       name_of(dtype_of(tensor, options)), output, fmt::join(dims, " * "),
                       index_of(tensor.scale), holds_scales(tensor));
  }

  std::string tables() const {
    std::vector<std::string> names;
    for (const std::string& name : task_.shape_parameters) names.push_back(c_literal(name));
    std::string code =
        fmt::format("\nconst std::string parameter_names[] = {{{}}};\n", fmt::join(names, ", ")) + claims();
    code += "\ninline std::vector<Tensor> tensors_of(const long long* p) {\n" + parameters() + "  return {\n";
    for (const Tensor& tensor : task_.inputs) code += tensor_row(tensor, false);
    for (const Tensor& tensor : task_.outputs) code += tensor_row(tensor, true);
    code += "  };\n}\n\ninline double flops(const long long* p) {\n" + parameters();
    code += fmt::format("  return static_cast<double>({});\n}}\n",
                        task_.flops.to_cpp(request_.provenance.target.options));
    code += "\ninline bool supported(const long long* p) {\n" + parameters() + "  return ";
    std::vector<std::string> conditions;
    for (const Specialised& specialised : specialisations_)
      conditions.push_back("(" + condition_of(specialised) + ")");
    return code + fmt::format("{};\n}}\n", fmt::join(conditions, " || "));
  }

  std::string pointer(const Tensor& tensor, std::size_t index, bool output) const {
    const bool typed = dtype_of(tensor, request_.provenance.target.options) == DType::f32;
    if (!typed) return fmt::format("buffers[{}]", index);
    return fmt::format("static_cast<{}float*>(buffers[{}])", output ? "" : "const ", index);
  }

  /// Calls of the launcher and the reference, as kRun uses them.
  std::string calls() const {
    std::vector<std::string> arguments;
    for (const Tensor& tensor : task_.inputs) arguments.push_back(pointer(tensor, arguments.size(), false));
    for (const Tensor& tensor : task_.outputs) arguments.push_back(pointer(tensor, arguments.size(), true));
    std::vector<std::string> sizes;
    for (const std::string& name : task_.shape_parameters)
      sizes.push_back(fmt::format("static_cast<int>({})", name));
    const bool workspace = needs_workspace(request_, specialisations_);
    std::string code = "\ninline size_t workspace_bytes([[maybe_unused]] const long long* p) {\n";
    if (workspace) {
      code += parameters() +
              fmt::format("  return evo_{}_workspace_bytes({});\n", task_.name, fmt::join(sizes, ", "));
    } else {
      code += "  return 0;\n";
    }
    code +=
        "}\n\ninline cudaError_t call(const Buffers& buffers, [[maybe_unused]] void* workspace, const long "
        "long* p, cudaStream_t stream) {\n";
    code += parameters();
    code += fmt::format("  return evo_{}({}, {}, {}stream);\n}}\n", task_.name, fmt::join(arguments, ", "),
                        fmt::join(sizes, ", "), workspace ? "workspace, " : "");
    return code + reference_call();
  }

  /// Inputs come from `buffers`, outputs, which the reference writes as f32, go to `oracle`.
  std::string reference_call() const {
    std::string code =
        "\ninline cudaError_t reference(const Buffers& buffers, const Buffers& oracle, const long long* p) "
        "{\n" +
        parameters();
    for (const Specialised& specialised : specialisations_) {
      Bindings known = request_.provenance.target.options;
      known.insert(specialised.values.begin(), specialised.values.end());
      code += fmt::format("  if ({}) {{\n", condition_of(specialised));
      std::vector<std::string> arguments;
      for (std::size_t i = 0; i < task_.reference_arguments.size(); ++i) {
        const std::string& name = task_.reference_arguments[i];
        code += "    " + reference_argument(name, i, known);
        arguments.push_back(fmt::format("&argument_{}", i));
      }
      const auto triple = [&](const Expression(&dims)[3]) {
        return fmt::format("static_cast<unsigned>({}), static_cast<unsigned>({}), static_cast<unsigned>({})",
                           dims[0].to_cpp(known), dims[1].to_cpp(known), dims[2].to_cpp(known));
      };
      code += fmt::format("    void* arguments[] = {{{}}};\n", fmt::join(arguments, ", "));
      code += fmt::format(
          "    return cudaLaunchKernel((const void*)&{}::{}, dim3({}), dim3({}), arguments, 0, nullptr);\n  "
          "}}\n",
          reference_space(specialised), symbol_of(task_.reference_kernel, specialised),
          triple(task_.reference_grid), triple(task_.reference_block));
    }
    return code + "  return cudaErrorInvalidValue;\n}\n";
  }

  std::string reference_argument(const std::string& name, std::size_t position, const Bindings& known) const {
    for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
      if (task_.inputs[i].name == name) return fmt::format("void* argument_{} = buffers[{}];\n", position, i);
    }
    for (std::size_t i = 0; i < task_.outputs.size(); ++i) {
      if (task_.outputs[i].name == name) {
        return fmt::format("void* argument_{} = oracle[{}];\n", position, task_.inputs.size() + i);
      }
    }
    return fmt::format("int argument_{} = static_cast<int>({});\n", position,
                       Expression::parse(name).to_cpp(known));
  }

  const ExportRequest& request_;
  const Task& task_;
  const std::vector<Specialised>& specialisations_;
};

}  // namespace

std::string main_code(const ExportRequest& request, const std::vector<Specialised>& specialisations) {
  return MainWriter(request, specialisations).write();
}

}  // namespace evo
