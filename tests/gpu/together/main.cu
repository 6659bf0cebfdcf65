// Several exported kernels in one process: each must give its right answer whatever the others, other threads, streams,
// graphs, devices and contexts do.
// usage: NAME runtime|primary|second   who makes the context: the runtime; the driver API, the primary one before the
// runtime is used; the driver API, a second one beside the primary.
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "kernel.h"

using together::Kernel;
using together::Problem;

std::vector<Kernel*> all_kernels();  // Of the file that the script writes.

namespace {

std::atomic<int> failures{0};

void fail(const char* what, const std::string& why) {
  std::printf("FAILED %s: %s\n", what, why.c_str());
  ++failures;
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

void check(CUresult error, const char* what) {
  if (error == CUDA_SUCCESS) return;
  std::printf("FAILED %s: driver error %d\n", what, static_cast<int>(error));
  std::exit(1);
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

using Problems = std::vector<std::unique_ptr<Problem>>;

Problems problems_of(const std::vector<Kernel*>& kernels) {
  Problems problems;
  for (const Kernel* kernel : kernels) problems.push_back(kernel->problem());
  return problems;
}

void call(Problem& problem, cudaStream_t stream, const char* what) {
  const cudaError_t error = problem.call(stream);
  if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}

void require_same(const std::vector<Kernel*>& kernels, const Problems& problems, const char* what) {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return fail(what, cudaGetErrorString(error));
  for (size_t i = 0; i < kernels.size(); ++i)
    if (!problems[i]->same()) fail(what, "another answer of " + kernels[i]->name());
}

void in_turn(const std::vector<Kernel*>& kernels) {
  for (Kernel* kernel : kernels)
    if (!kernel->right()) fail("first call", kernel->name());
  Stream stream;
  const Problems problems = problems_of(kernels);
  for (int round = 0; round < 3; ++round)
    for (const auto& problem : problems) call(*problem, stream, "in turn");
  require_same(kernels, problems, "in turn");
}

void many_threads(const std::vector<Kernel*>& kernels, const std::function<void()>& begin) {
  constexpr int kThreads = 8, kRounds = 10;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      begin();
      const Stream stream;
      const Problems problems = problems_of(kernels);
      for (int round = 0; round < kRounds; ++round)
        for (size_t i = 0; i < kernels.size(); ++i) call(*problems[(i + t) % kernels.size()], stream, "many threads");
      require_same(kernels, problems, "many threads");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void many_streams(const std::vector<Kernel*>& kernels) {
  constexpr int kStreams = 8;
  std::vector<Problems> problems;
  std::vector<Stream> streams(kStreams);
  for (int s = 0; s < kStreams; ++s) problems.push_back(problems_of(kernels));
  for (int round = 0; round < 10; ++round)
    for (size_t i = 0; i < kernels.size(); ++i)
      for (int s = 0; s < kStreams; ++s) call(*problems[s][(i + s) % kernels.size()], streams[s], "many streams");
  for (const Problems& of_stream : problems) require_same(kernels, of_stream, "many streams");
}

void graph(const std::vector<Kernel*>& kernels, const char* what) {
  const Problems problems = problems_of(kernels);
  {
    Stream stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), what);
    for (const auto& problem : problems) call(*problem, stream, what);
    check(cudaStreamEndCapture(stream, &graph), what);
    check(cudaGraphInstantiate(&executable, graph, 0), what);
    for (int replay = 0; replay < 10; ++replay) check(cudaGraphLaunch(executable, stream), what);
    check(cudaStreamSynchronize(stream), what);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
  require_same(kernels, problems, what);
}

/// What a call costs the host, with nothing to wait for.
void host_time(const std::vector<Kernel*>& kernels) {
  const Problems problems = problems_of(kernels);
  Stream stream;
  std::printf("host time of a call and of clearing its output, us:");
  for (const auto& problem : problems) {
    double least = 1e9;
    for (int round = 0; round < 20; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 20; ++i) call(*problem, stream, "host time");
      least = std::min(least, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / 20);
      check(cudaStreamSynchronize(stream), "host time");
    }
    std::printf(" %.2f", least);
  }
  std::printf("\n");
}

void everything(const std::vector<Kernel*>& kernels, const std::function<void()>& begin) {
  in_turn(kernels);
  many_threads(kernels, begin);
  many_streams(kernels);
  graph(kernels, "graph");
  std::printf("right: in turn, many threads, many streams, graph\n");
}

/// Each kernel with an answer of the last context captured as the first of its calls in a new one.
void after_reset(const std::vector<Kernel*>& kernels) {
  check(cudaDeviceReset(), "cudaDeviceReset");
  graph(kernels, "graph as the first call after a reset");
  check(cudaDeviceReset(), "cudaDeviceReset");
  everything(kernels, [] {});
  std::printf("right: after cudaDeviceReset\n");
}

void two_devices(const std::vector<Kernel*>& kernels) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) {
    std::printf("not checked: two devices, this machine has one\n");
    return;
  }
  for (const int device : {1, 0}) {
    check(cudaSetDevice(device), "cudaSetDevice");
    in_turn(kernels);
  }
  std::vector<std::thread> threads;
  for (const int device : {0, 1}) {
    threads.emplace_back([&, device] {
      const auto begin = [device] { check(cudaSetDevice(device), "cudaSetDevice"); };
      begin();
      many_threads(kernels, begin);
      many_streams(kernels);
      graph(kernels, "graph on two devices");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("right: two devices\n");
}

void runtime_context(const std::vector<Kernel*>& kernels) {
  everything(kernels, [] {});
  host_time(kernels);
  after_reset(kernels);
  two_devices(kernels);
}

void primary_context(const std::vector<Kernel*>& kernels) {
  CUdevice device;
  CUcontext context;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  everything(kernels, [&] { check(cuCtxSetCurrent(context), "cuCtxSetCurrent"); });
  check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
  std::printf("right: a primary context of the driver API\n");
}

void second_context(const std::vector<Kernel*>& kernels) {
  in_turn(kernels);
  CUcontext context;
#if CUDA_VERSION >= 13000
  check(cuCtxCreate(&context, nullptr, 0, 0), "cuCtxCreate");
#else
  check(cuCtxCreate(&context, 0, 0), "cuCtxCreate");
#endif
  everything(kernels, [&] { check(cuCtxSetCurrent(context), "cuCtxSetCurrent"); });
  CUcontext popped;
  check(cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
  in_turn(kernels);
  check(cuCtxDestroy(context), "cuCtxDestroy");
  in_turn(kernels);
  std::printf("right: a second context beside the primary one\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 2 ? argv[1] : "";
  const std::vector<Kernel*> kernels = all_kernels();
  if (std::count(kernels.begin(), kernels.end(), nullptr) > 0) fail("kernels", "a file has no kernel for its shape");
  if (failures > 0) return 1;
  if (mode == "runtime") {
    runtime_context(kernels);
  } else if (mode == "primary") {
    primary_context(kernels);
  } else if (mode == "second") {
    second_context(kernels);
  } else {
    std::fprintf(stderr, "usage: %s runtime|primary|second\n", argv[0]);
    return 2;
  }
  std::printf("%s: %zu kernels, %d failures\n", mode.c_str(), kernels.size(), failures.load());
  return failures > 0;
}
