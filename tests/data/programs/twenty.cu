// Twenty small programs in one file, chosen by the first argument: each uses a part of the runtime as programs do, and
// prints "NAME: passed". tests/cli/kernel/host_program_test.cpp compiles it with nvcc and runs it on the virtual GPU.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

#define CHECK(call)                                                                                  \
  do {                                                                                               \
    const cudaError_t error = (call);                                                                \
    if (error != cudaSuccess) {                                                                      \
      std::printf("line %d: %s: %s\n", __LINE__, cudaGetErrorName(error), cudaGetErrorString(error)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

#define EXPECT(what)                                       \
  do {                                                     \
    if (!(what)) {                                         \
      std::printf("line %d: not so: %s\n", __LINE__, #what); \
      std::exit(1);                                        \
    }                                                      \
  } while (false)

constexpr int kCount = 1000;

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void scale(int* x, int by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void increment(int* x) {
  atomicAdd(x, 1);
}

/// Memory of the device that is freed at the end.
template <class T>
struct Device {
  explicit Device(size_t count) { CHECK(cudaMalloc(&data, count * sizeof(T))); }
  explicit Device(const std::vector<T>& from) : Device(from.size()) {
    CHECK(cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Device() { CHECK(cudaFree(data)); }
  std::vector<T> back(size_t count) const {
    std::vector<T> to(count);
    CHECK(cudaMemcpy(to.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }
  T* data = nullptr;
};

void vector_add() {
  const Device<float> a(std::vector<float>(kCount, 1)), b(std::vector<float>(kCount, 2)), c(kCount);
  add<<<(kCount + 255) / 256, 256>>>(a.data, b.data, c.data, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  for (const float one : c.back(kCount)) EXPECT(one == 3);
}

__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][16], right[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
void matrix_multiply() {
  constexpr int n = 48;
  const Device<float> a(std::vector<float>(n * n, 0.5f)), b(std::vector<float>(n * n, 2)), c(n * n);
  multiply<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a.data, b.data, c.data, n);
  for (const float one : c.back(n * n)) EXPECT(one == n);
}

__constant__ int weights[4];
__device__ int total = 5;
__global__ void weigh(int* out) {
  out[threadIdx.x] = weights[threadIdx.x];
  if (threadIdx.x == 0) total += weights[3];
}
void symbols() {
  const int given[4] = {1, 2, 3, 4};
  CHECK(cudaMemcpyToSymbol(weights, given, sizeof given));
  const Device<int> out(4);
  weigh<<<1, 4>>>(out.data);
  EXPECT(out.back(4)[2] == 3);
  int found = 0;
  CHECK(cudaMemcpyFromSymbol(&found, total, sizeof found));
  EXPECT(found == 9);
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, total));
  CHECK(cudaGetSymbolSize(&bytes, weights));
  EXPECT(address != nullptr && bytes == 16);
}

__managed__ int shared_counter = 40;
void managed_memory() {
  int* x = nullptr;
  CHECK(cudaMallocManaged(&x, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) x[i] = i;
  scale<<<4, 256>>>(x, 3, kCount);
  increment<<<1, 2>>>(&shared_counter);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT(x[i] == 3 * i);
  EXPECT(shared_counter == 42);
  CHECK(cudaFree(x));
}

void mapped_memory() {
  int *pinned = nullptr, *mapped = nullptr;
  CHECK(cudaHostAlloc(&pinned, kCount * sizeof(int), cudaHostAllocMapped));
  for (int i = 0; i < kCount; ++i) pinned[i] = i;
  CHECK(cudaHostGetDevicePointer(&mapped, pinned, 0));
  scale<<<4, 256>>>(mapped, 2, kCount);
  std::vector<int> ours(kCount, 7);
  CHECK(cudaHostRegister(ours.data(), kCount * sizeof(int), cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&mapped, ours.data(), 0));
  scale<<<4, 256>>>(mapped, 2, kCount);
  CHECK(cudaDeviceSynchronize());
  EXPECT(pinned[999] == 1998 && ours[999] == 14);
  CHECK(cudaHostUnregister(ours.data()));
  CHECK(cudaFreeHost(pinned));
}

__global__ void add_pitched(char* data, size_t pitch, int width, int height) {
  for (int y = 0; y < height; ++y)
    if (threadIdx.x < width) reinterpret_cast<int*>(data + y * pitch)[threadIdx.x] += y;
}
void pitched_memory() {
  constexpr int width = 10, height = 7;
  char* data = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&data, &pitch, width * sizeof(int), height));
  EXPECT(pitch >= width * sizeof(int));
  std::vector<int> host(width * height, 1), back(width * height);
  CHECK(cudaMemcpy2D(data, pitch, host.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
  add_pitched<<<1, 32>>>(data, pitch, width, height);
  CHECK(cudaMemcpy2D(back.data(), width * 4, data, pitch, width * 4, height, cudaMemcpyDeviceToHost));
  for (int i = 0; i < width * height; ++i) EXPECT(back[i] == 1 + i / width);
  CHECK(cudaFree(data));
}

void copies_in_3d() {
  cudaPitchedPtr box{};
  const cudaExtent extent = make_cudaExtent(8 * sizeof(int), 4, 3);
  CHECK(cudaMalloc3D(&box, extent));
  CHECK(cudaMemset3D(box, 0, extent));
  std::vector<int> host(8 * 4 * 3), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), 8 * sizeof(int), 8, 4);
  copy.dstPtr = box;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  copy.dstPtr = make_cudaPitchedPtr(back.data(), 8 * sizeof(int), 8, 4);
  copy.srcPtr = box;
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  EXPECT(host == back);
  CHECK(cudaFree(box.ptr));
}

void fills() {
  const Device<unsigned char> x(64);
  CHECK(cudaMemset(x.data, 0xab, 64));
  CHECK(cudaMemset2D(x.data, 16, 1, 4, 2));
  const auto back = x.back(64);
  EXPECT(back[0] == 1 && back[3] == 1 && back[4] == 0xab && back[19] == 1 && back[20] == 0xab && back[63] == 0xab);
}

void streams_and_events() {
  cudaStream_t first, second;
  cudaEvent_t begin, end;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const Device<int> x(std::vector<int>(kCount, 1));
  CHECK(cudaEventRecord(begin, first));
  scale<<<4, 256, 0, first>>>(x.data, 5, kCount);
  CHECK(cudaEventRecord(end, first));
  CHECK(cudaStreamWaitEvent(second, end, 0));
  scale<<<4, 256, 0, second>>>(x.data, 2, kCount);
  CHECK(cudaStreamSynchronize(second));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(ms > 0 && ms < 1);
  EXPECT(x.back(kCount)[kCount - 1] == 10);
  CHECK(cudaStreamQuery(first));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
}

void add_one_on_the_host(void* value) {
  ++*static_cast<int*>(value);
}

void captured_graph() {
  cudaStream_t stream, branch;
  cudaEvent_t forked, joined;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&branch));
  CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  const Device<int> x(std::vector<int>(kCount, 1)), y(std::vector<int>(kCount, 1));
  int calls = 0;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<4, 256, 0, stream>>>(x.data, 2, kCount);
  CHECK(cudaEventRecord(forked, stream));
  CHECK(cudaStreamWaitEvent(branch, forked, 0));
  scale<<<4, 256, 0, branch>>>(y.data, 3, kCount);
  CHECK(cudaEventRecord(joined, branch));
  CHECK(cudaStreamWaitEvent(stream, joined, 0));
  CHECK(cudaLaunchHostFunc(stream, add_one_on_the_host, &calls));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  EXPECT(x.back(1)[0] == 1 && calls == 0);  // Nothing has run yet.
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 3);
  cudaGraphExec_t runnable;
  CHECK(cudaGraphInstantiate(&runnable, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(runnable, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(x.back(kCount)[999] == 8 && y.back(kCount)[999] == 27 && calls == 3);
  CHECK(cudaGraphExecDestroy(runnable));
  CHECK(cudaGraphDestroy(graph));
}

void explicit_graph() {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const Device<int> x(kCount);
  std::vector<int> back(kCount);
  cudaMemsetParams fill{};
  fill.dst = x.data;
  fill.value = 3;
  fill.elementSize = 4;
  fill.width = kCount;
  fill.height = 1;
  int by = 4, count = kCount;
  int* data = x.data;
  void* arguments[] = {&data, &by, &count};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.gridDim = dim3(4);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  cudaGraphNode_t copied, scaled, filled;
  // In another order than they run.
  CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, nullptr, 0, back.data(), x.data, kCount * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  CHECK(cudaGraphAddKernelNode(&scaled, graph, &filled, 1, &kernel));
  CHECK(cudaGraphAddDependencies(graph, &scaled, &copied, nullptr, 1));
  cudaGraphExec_t runnable;
  CHECK(cudaGraphInstantiate(&runnable, graph, 0));
  CHECK(cudaGraphLaunch(runnable, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(back[999] == 12);
  by = 5;
  CHECK(cudaGraphExecKernelNodeSetParams(runnable, scaled, &kernel));
  CHECK(cudaGraphLaunch(runnable, nullptr));
  EXPECT(back[999] == 15);
}

void occupancy() {
  int blocks = 0, grid = 0, block = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  EXPECT(blocks == 8);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 0));
  EXPECT(grid > 0 && block % 32 == 0);
}

__global__ void sum_of_grid(int* part, int* out) {
  const auto grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) part[blockIdx.x] = blockIdx.x + 1;
  grid.sync();
  if (grid.thread_rank() == 0)
    for (int i = 0; i < gridDim.x; ++i) *out += part[i];
}
void cooperative_launch() {
  const Device<int> part(8), out(std::vector<int>{0});
  int *parts = part.data, *result = out.data;
  void* arguments[] = {&parts, &result};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(sum_of_grid), dim3(8), dim3(64), arguments, 0, nullptr));
  EXPECT(out.back(1)[0] == 36);
  CHECK(cudaGetLastError());
  const cudaError_t refused =
      cudaLaunchCooperativeKernel(reinterpret_cast<void*>(sum_of_grid), dim3(100000), dim3(64), arguments, 0, nullptr);
  EXPECT(refused == cudaErrorCooperativeLaunchTooLarge && cudaGetLastError() == refused);
}

__global__ void ranks_of_cluster(unsigned* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ unsigned mine;
  const auto cluster = cooperative_groups::this_cluster();
  mine = cluster.block_rank();
  cluster.sync();
  const unsigned other = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&mine, other);
  cluster.sync();
#endif
}
__global__ void dependent(int* x) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  *x += 1;
}
void launch_attributes() {
  const Device<unsigned> out(8);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8);
  config.blockDim = dim3(32);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, ranks_of_cluster, out.data));
  const auto ranks = out.back(8);
  EXPECT(ranks[0] == 1 && ranks[3] == 0 && ranks[6] == 3);
  const Device<int> x(std::vector<int>{1});
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = config.blockDim = dim3(1);
  CHECK(cudaLaunchKernelEx(&config, dependent, x.data));
  EXPECT(x.back(1)[0] == 2);
}

__global__ void greet() {
  std::printf("thread %d of block %d\n", threadIdx.x, blockIdx.x);
}
void device_printf() {
  greet<<<2, 1>>>();
  std::printf("before the wait\n");
  CHECK(cudaDeviceSynchronize());
  std::printf("behind the wait\n");
}

extern __shared__ int dynamic_smem[];
__global__ void reverse_in_smem(int* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) dynamic_smem[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = dynamic_smem[n - 1 - i];
}
void function_attributes() {
  constexpr int n = 20000, bytes = n * 4;
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i;
  const Device<int> x(host);
  reverse_in_smem<<<1, 128, bytes>>>(x.data, n);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(reverse_in_smem, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  reverse_in_smem<<<1, 128, bytes>>>(x.data, n);
  CHECK(cudaGetLastError());
  EXPECT(x.back(n)[0] == n - 1);
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, multiply));
  EXPECT(attributes.sharedSizeBytes == 2 * 16 * 16 * 4 && attributes.numRegs > 0);
  EXPECT(attributes.maxThreadsPerBlock == 1024);
}

void allocation_in_streams() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int* x = nullptr;
  CHECK(cudaMallocAsync(&x, kCount * sizeof(int), stream));
  CHECK(cudaMemsetAsync(x, 0, kCount * sizeof(int), stream));
  increment<<<1, 32, 0, stream>>>(x);
  int found = 0;
  CHECK(cudaMemcpyAsync(&found, x, sizeof found, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(x, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(found == 32);
}

void kinds_of_pointers() {
  const Device<int> device(4);
  int* managed = nullptr;
  CHECK(cudaMallocManaged(&managed, 16));
  int on_stack = 0;
  cudaPointerAttributes found{};
  CHECK(cudaPointerGetAttributes(&found, device.data + 1));
  EXPECT(found.type == cudaMemoryTypeDevice);
  CHECK(cudaPointerGetAttributes(&found, managed));
  EXPECT(found.type == cudaMemoryTypeManaged);
  CHECK(cudaPointerGetAttributes(&found, &on_stack));
  EXPECT(found.type == cudaMemoryTypeUnregistered);
  // Unified addressing: the kind may be left to the runtime.
  CHECK(cudaMemcpy(device.data, &on_stack, 4, cudaMemcpyDefault));
  EXPECT(cudaMemcpy(device.data, &on_stack, 64, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaFree(managed));
}

void device_facts() {
  int count = 0, sms = 0;
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(count == 1 && sms == properties.multiProcessorCount && properties.warpSize == 32);
  EXPECT(properties.clusterLaunch == (properties.major >= 9 ? 1 : 0));
  EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);
  size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  EXPECT(free <= total && total == properties.totalGlobalMem);
  std::printf("%s, compute capability %d.%d\n", properties.name, properties.major, properties.minor);
}

__global__ void __launch_bounds__(64) small_blocks(int* x) {
  atomicAdd(x, 1);
}
#if __CUDA_ARCH__ >= 900
#define IN_PAIRS __cluster_dims__(2, 1, 1)
#else
#define IN_PAIRS
#endif
__global__ void IN_PAIRS in_pairs(int* x) {
  atomicAdd(x, 1);
}

/// A launch that is refused runs nothing, and later ones run.
void refused_launches() {
  const Device<int> x(std::vector<int>{0});
  increment<<<1, 2048>>>(x.data);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
  small_blocks<<<1, 128>>>(x.data);
  EXPECT(cudaGetLastError() != cudaSuccess);
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  if (properties.major >= 9) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(8);
    config.blockDim = dim3(1);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {4, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    EXPECT(cudaLaunchKernelEx(&config, in_pairs, x.data) != cudaSuccess && cudaGetLastError() != cudaSuccess);
  }
  increment<<<1, 1>>>(x.data);
  CHECK(cudaDeviceSynchronize());
  EXPECT(x.back(1)[0] == 1);
  int on_stack = 0;
  EXPECT(cudaFree(&on_stack) == cudaErrorInvalidValue);
}

/// Ends with an error that stays.
void illegal_address() {
  const Device<int> x(4);
  scale<<<1, 256>>>(x.data, 2, 256);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  int* more = nullptr;
  EXPECT(error == cudaErrorIllegalAddress && cudaMalloc(&more, 4) == error);
  std::printf("illegal_address: passed\n");
  std::fflush(stdout);
  std::_Exit(0);
}

__global__ void race(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = values[63 - threadIdx.x];
}
void missing_barrier() {
  const Device<int> x(64);
  race<<<1, 64>>>(x.data);
  CHECK(cudaDeviceSynchronize());
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {{"vector_add", vector_add},
                           {"matrix_multiply", matrix_multiply},
                           {"symbols", symbols},
                           {"managed_memory", managed_memory},
                           {"mapped_memory", mapped_memory},
                           {"pitched_memory", pitched_memory},
                           {"copies_in_3d", copies_in_3d},
                           {"fills", fills},
                           {"streams_and_events", streams_and_events},
                           {"captured_graph", captured_graph},
                           {"explicit_graph", explicit_graph},
                           {"occupancy", occupancy},
                           {"cooperative_launch", cooperative_launch},
                           {"launch_attributes", launch_attributes},
                           {"device_printf", device_printf},
                           {"function_attributes", function_attributes},
                           {"allocation_in_streams", allocation_in_streams},
                           {"kinds_of_pointers", kinds_of_pointers},
                           {"device_facts", device_facts},
                           {"refused_launches", refused_launches},
                           {"illegal_address", illegal_address},
                           {"missing_barrier", missing_barrier}};

}  // namespace

int main(int count, char** arguments) {
  for (const Case& one : kCases) {
    const bool harmless = one.run != illegal_address && one.run != missing_barrier;
    if (count > 1 ? std::strcmp(arguments[1], one.name) != 0 : !harmless) continue;
    one.run();
    std::printf("%s: passed\n", one.name);
  }
}
