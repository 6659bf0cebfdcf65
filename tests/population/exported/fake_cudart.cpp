// A CUDA runtime for one exported file, on the CPU: the launcher and the program of the toy task run without a GPU.
// Kernels are plain functions here; launches are printed on standard error. A captured graph records what it is given.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// What device code reads; see device_launch_parameters.h.
uint3 threadIdx, blockIdx;

struct alignas(64) TensorMap {
  unsigned long long words[16];
};

// By value in the kernels of the task `forms`.
struct Sizes {
  short rows;
  int columns;
  long long apart;
  double root;
};
struct Four {
  float x, y, z, w;
};

extern "C" {
using Sum = void(const unsigned char*, const float*, float*, const void*, const void*, int);
using Apply = void(TensorMap, const float*, const float*, float*, int);
using Reference = void(const unsigned char*, const float*, float*, int);
using Forms = void(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, float,
                   Sizes, Four, unsigned short, bool, void*, unsigned char, unsigned short);
using FormsReference = void(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*,
                            float, Sizes);
}

namespace {

struct Recording {
  bool active = false;
  std::vector<std::function<void()>> steps;
} recording;

void perform(std::function<void()> step) {
  if (recording.active) {
    recording.steps.push_back(std::move(step));
  } else {
    step();
  }
}

template <class T>
T argument(void** arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

void over_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
      for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) thread();
    }
  }
}

enum class Kind { none, sum, apply, reference, forms, forms_reference };

struct Known {
  Kind kind = Kind::none;
  std::string name = "another kernel";
};

Kind kind_of(const std::string& name) {
  const auto starts = [&](const char* start) { return name.compare(0, std::strlen(start), start) == 0; };
  if (starts("toy_sum")) return Kind::sum;
  if (starts("toy_apply")) return Kind::apply;
  if (starts("toy_reference")) return Kind::reference;
  if (starts("forms_apply")) return Kind::forms;
  if (starts("forms_reference")) return Kind::forms_reference;
  return Kind::none;
}

/// By the address of the kernel. Static constructors fill it, whatever their order.
std::map<const void*, Known>& kernels() {
  static std::map<const void*, Known> all;
  return all;
}

Known known(const void* kernel) {
  const auto found = kernels().find(kernel);
  return found == kernels().end() ? Known() : found->second;
}

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** a) {
  std::function<void()> thread;
  const Kind kind = known(kernel).kind;
  if (kind == Kind::sum) {
    thread = [=, x = argument<const unsigned char*>(a, 0), scale = argument<const float*>(a, 1),
              sums = argument<float*>(a, 2), never = argument<void*>(a, 3), many = argument<void*>(a, 4),
              rows = argument<int>(a, 5)] { ((Sum*)kernel)(x, scale, sums, never, many, rows); };
  } else if (kind == Kind::apply) {
    thread = [=, map = argument<TensorMap>(a, 0), scale = argument<const float*>(a, 1),
              sums = argument<const float*>(a, 2), y = argument<float*>(a, 3),
              count = argument<int>(a, 4)] { ((Apply*)kernel)(map, scale, sums, y, count); };
  } else if (kind == Kind::reference) {
    thread = [=, x = argument<const unsigned char*>(a, 0), scale = argument<const float*>(a, 1),
              y = argument<float*>(a, 2), count = argument<int>(a, 3)] { ((Reference*)kernel)(x, scale, y, count); };
  } else if (kind == Kind::forms || kind == Kind::forms_reference) {
    std::vector<void*> p;
    for (int i = 0; i < 13; ++i) p.push_back(argument<void*>(a, i));
    const auto factor = argument<float>(a, 13);
    const auto sizes = argument<Sizes>(a, 14);
    if (kind == Kind::forms) {
      thread = [=, four = argument<Four>(a, 15), half = argument<unsigned short>(a, 16), wide = argument<bool>(a, 17),
                none = argument<void*>(a, 18), three = argument<unsigned char>(a, 19),
                one = argument<unsigned short>(a, 20)] {
        ((Forms*)kernel)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], factor, sizes,
                         four, half, wide, none, three, one);
      };
    } else {
      thread = [=] {
        ((FormsReference*)kernel)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12],
                                  factor, sizes);
      };
    }
  } else {
    return cudaErrorInvalidDeviceFunction;
  }
  perform([=] { over_grid(grid, block, thread); });
  return cudaSuccess;
}

thread_local int current_device = 0;

/// Dynamic shared memory that each kernel was last allowed, on each device; 48 KB need no asking.
std::mutex allowing;
std::map<std::pair<int, const void*>, size_t> allowed;

size_t allowed_bytes(const void* kernel) {
  const std::lock_guard<std::mutex> alone(allowing);
  const auto found = allowed.find({current_device, kernel});
  return found == allowed.end() ? 49152 : found->second;
}

CUresult encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* dims,
                const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &address, sizeof address);
  if (!recording.active) {
    std::fprintf(stderr, "map type %d rank %u dims %llu %llu stride %llu box %u %u swizzle %d\n", type, rank,
                 (unsigned long long)dims[0], (unsigned long long)dims[1], (unsigned long long)strides[0], box[0],
                 box[1], swizzle);
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

/// Exported files are made to call this for each of their kernels.
void fake_kernel(const void* kernel, const char* name) {
  kernels()[kernel] = {kind_of(name), name};
}

cudaError_t cudaMalloc(void** to, size_t bytes) {
  *to = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *to ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* from) {
  std::free(from);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  perform([=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
  static char text[32];
  std::snprintf(text, sizeof text, "error %d", error);
  return text;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceReset() {
  const std::lock_guard<std::mutex> alone(allowing);
  for (auto entry = allowed.begin(); entry != allowed.end();)
    entry = entry->first.first == current_device ? allowed.erase(entry) : std::next(entry);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "Fake GPU");
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (!recording.active)
    std::fprintf(stderr, "attribute %d of %s is %d\n", attribute, known(kernel).name.c_str(), value);
  const std::lock_guard<std::mutex> alone(allowing);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
    allowed[{current_device, kernel}] = static_cast<size_t>(value);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  *attributes = {};
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(allowed_bytes(kernel));
  // Only the kernel that tells images apart is asked for it.
  attributes->maxThreadsPerBlock = std::getenv("FAKE_IMAGE_OF_ANOTHER_TARGET") != nullptr ? 32 : 64;
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  if (config->dynamicSmemBytes > allowed_bytes(kernel)) return cudaErrorInvalidValue;
  unsigned cluster[3] = {1, 1, 1};
  int programmatic = 0, cooperative = 0;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension)
      std::memcpy(cluster, &attribute.val.clusterDim, sizeof cluster);
    if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
      programmatic = attribute.val.programmaticStreamSerializationAllowed;
    }
    if (attribute.id == cudaLaunchAttributeCooperative) cooperative = attribute.val.cooperative;
  }
  if (!recording.active) {
    std::fprintf(stderr, "launch %s grid %u %u %u block %u %u %u cluster %u %u %u smem %zu programmatic %d%s\n",
                 known(kernel).name.c_str(), config->gridDim.x, config->gridDim.y, config->gridDim.z,
                 config->blockDim.x, config->blockDim.y, config->blockDim.z, cluster[0], cluster[1], cluster[2],
                 config->dynamicSmemBytes, programmatic, cooperative ? " cooperative" : "");
  }
  return launch(kernel, config->gridDim, config->blockDim, arguments);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t, cudaStream_t) {
  return launch(kernel, grid, block, arguments);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** entry, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *entry = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0 ? (void*)&encode : nullptr;
  *result = *entry ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  recording = {true, {}};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  recording.active = false;
  *graph = nullptr;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t, unsigned long long) {
  *executable = nullptr;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
  for (const auto& step : recording.steps) step();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) {
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0.1F;
  return cudaSuccess;
}
}
