// Programs of several processes or threads, and such as end early, for tests/cli/kernel/host_program_test.cpp.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t error_ = (call);                                               \
    if (error_ != cudaSuccess) {                                                     \
      std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(3);                                                                  \
    }                                                                                \
  } while (false)
#define EXPECT(condition)                                 \
  do {                                                    \
    if (!(condition)) {                                   \
      std::printf("line %d: %s\n", __LINE__, #condition); \
      std::exit(3);                                       \
    }                                                     \
  } while (false)

__global__ void increment(int* x, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}

void work(int by) {
  constexpr int n = 300;
  std::vector<int> host(n, 5);
  int* device = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMallocAsync(&device, n * sizeof(int), stream));
  CHECK(cudaMemcpyAsync(device, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < 3; ++i) increment<<<3, 128, 0, stream>>>(device, n, by);
  CHECK(cudaMemcpyAsync(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (const int value : host) EXPECT(value == 5 + 3 * by);
  CHECK(cudaFreeAsync(device, stream));
  CHECK(cudaStreamDestroy(stream));
}

/// In a child; returns its exit code, or 128 and its signal.
template <class Body>
int in_child(Body body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Children that are there before the GPU is used have GPUs of their own.
void children() {
  EXPECT(in_child([] { work(1); }) == 0);
  EXPECT(in_child([] { work(2); }) == 0);
  work(3);
}

/// A child of a process that uses the GPU has none.
void child_too_late() {
  work(1);
  EXPECT(in_child([] {
           int* pointer = nullptr;
           EXPECT(cudaMalloc(&pointer, 4) == cudaErrorInitializationError);
           cudaDeviceReset();
           EXPECT(cudaMalloc(&pointer, 4) == cudaErrorInitializationError);
         }) == 0);
  work(2);
}

void threads() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) all.emplace_back(work, i);
  for (std::thread& one : all) one.join();
}

std::uint64_t attribute_of(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t value = 0;
  CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

void pools() {
  cudaMemPool_t standard = nullptr, current = nullptr, own = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
  CHECK(cudaDeviceGetMemPool(&current, 0));
  EXPECT(standard == current && standard != nullptr);
  std::uint64_t threshold = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT(attribute_of(standard, cudaMemPoolAttrReleaseThreshold) == threshold);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  properties.maxSize = 4096;
  CHECK(cudaMemPoolCreate(&own, &properties));
  void *first = nullptr, *second = nullptr;
  CHECK(cudaMallocFromPoolAsync(&first, 1000, own, nullptr));
  EXPECT(cudaMallocFromPoolAsync(&second, 4000, own, nullptr) == cudaErrorMemoryAllocation);
  cudaGetLastError();
  EXPECT(attribute_of(own, cudaMemPoolAttrUsedMemCurrent) == 1000);
  EXPECT(attribute_of(standard, cudaMemPoolAttrUsedMemCurrent) == 0);
  CHECK(cudaFreeAsync(first, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  EXPECT(attribute_of(own, cudaMemPoolAttrUsedMemCurrent) == 0);
  EXPECT(attribute_of(own, cudaMemPoolAttrUsedMemHigh) == 1000);
  CHECK(cudaDeviceSetMemPool(0, own));
  CHECK(cudaMallocAsync(&first, 100, nullptr));
  EXPECT(attribute_of(own, cudaMemPoolAttrUsedMemCurrent) == 100);
  CHECK(cudaFree(first));
  CHECK(cudaMemPoolTrimTo(own, 0));
  CHECK(cudaMemPoolDestroy(own));
  EXPECT(cudaMemPoolTrimTo(own, 0) == cudaErrorInvalidValue);
  cudaGetLastError();
  CHECK(cudaDeviceGetMemPool(&current, 0));
  EXPECT(current == standard);
}

void aborts() {
  work(1);
  std::abort();
}
void leaves() {
  work(1);
  _exit(7);
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {{"children", children}, {"child_too_late", child_too_late},
                           {"threads", threads},   {"pools", pools},
                           {"aborts", aborts},     {"leaves", leaves}};

}  // namespace

int main(int, char** arguments) {
  for (const Case& one : kCases) {
    if (std::strcmp(arguments[1], one.name) != 0) continue;
    one.run();
    std::printf("%s: passed\n", one.name);
  }
}
