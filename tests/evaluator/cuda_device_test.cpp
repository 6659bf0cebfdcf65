// The CUDA device on a real GPU: every path that the fake driver can only simulate. Skipped without a GPU.
#include "evaluator/cuda/cuda_device.h"

#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/cuda/gpu_monitor.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr const char* kScaleKernel = R"(
extern "C" __global__ void scale(float* x, int factor) { x[blockIdx.x * blockDim.x + threadIdx.x] *= factor; })";

// Fills all of its dynamic shared memory and adds up what another thread wrote.
constexpr const char* kLargeSharedMemory = R"(
extern "C" __global__ void reverse(int* out, int words) {
  extern __shared__ int tile[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) tile[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = tile[words - 1 - i];
})";

constexpr const char* kCluster = R"(
extern "C" __global__ void cluster_size(int* out) {
  unsigned size, rank;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) out[blockIdx.x] = size * 100 + rank;
})";

// The second kernel may start early, but must see what the first one wrote.
constexpr const char* kDependent = R"(
extern "C" __global__ void first(int* x) {
  asm volatile("griddepcontrol.launch_dependents;");
  long long begin = clock64();
  while (clock64() - begin < 100000) {}
  x[threadIdx.x] = threadIdx.x + 1;
}
extern "C" __global__ void second(const int* x, int* y) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  y[threadIdx.x] = 2 * x[threadIdx.x];
})";

constexpr const char* kCount = R"(
extern "C" __global__ void count(int* counter, int* seen) { seen[0] = atomicAdd(counter, 1); })";

// Copies one box of 32 rows by 64 bytes through the tensor memory accelerator.
constexpr const char* kTensorMap = R"(
struct alignas(64) TensorMap { unsigned char bytes[128]; };
extern "C" __global__ void copy_box(const __grid_constant__ TensorMap map, unsigned char* out, int x, int y) {
  __shared__ alignas(128) unsigned char tile[32 * 64];
  __shared__ alignas(8) unsigned long long arrived;
  unsigned tile_smem = (unsigned)__cvta_generic_to_shared(tile);
  unsigned arrived_smem = (unsigned)__cvta_generic_to_shared(&arrived);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrived_smem) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived_smem), "r"(32 * 64) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(tile_smem), "l"(&map), "r"(x), "r"(y), "r"(arrived_smem) : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (!done) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(arrived_smem) : "memory");
  }
  for (int i = threadIdx.x; i < 32 * 64; i += blockDim.x) out[i] = tile[i];
})";

constexpr const char* kFault = R"(extern "C" __global__ void fault(int* x) { x[1ll << 40] = 1; })";

constexpr const char* kSpin = R"(
extern "C" __global__ void spin(int nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); } while (now - begin < nanoseconds);
})";

// Every thread reads a stride of its own; the sum keeps the loads alive.
constexpr const char* kRead = R"(
extern "C" __global__ void read(const float4* x, int count, float* out) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 12345.0f) out[0] = sum;
})";

std::unique_ptr<Compiler> new_nvrtc() {
  try {
    return make_nvrtc_compiler();
  } catch (const Error& error) {
    SKIP(error.what());
    throw;
  }
}

/// The first GPU of this machine. Skips the test if its compute capability is below `sm`.
struct Gpu {
  std::unique_ptr<Compiler> compiler = new_nvrtc();
  std::unique_ptr<Device> device;
  std::unique_ptr<Module> module;

  explicit Gpu(const char* source, int sm = 0) {
    std::string why_none;
    if (cuda::list_devices(&why_none).empty()) SKIP("no GPU: " << why_none);
    device = cuda::make_device(0);
    if (device->info().limits.sm < sm) SKIP("needs sm_" << sm << ", this GPU is " << device->info().arch);
    module = load(source);
  }

  std::unique_ptr<Module> load(const char* source) {
    auto result = compiler->compile(source, device->info().arch, 0);
    if (const Failure* failure = std::get_if<Failure>(&result)) FAIL(failure->log);
    std::optional<Failure> failure;
    std::unique_ptr<Module> loaded = device->load(std::get<Binary>(result), failure);
    if (failure) FAIL(failure->reason);
    return loaded;
  }

  template <typename T>
  DeviceAddress upload(const std::vector<T>& values) {
    const DeviceAddress address = device->allocate(values.size() * sizeof(T), "values");
    device->upload(address, std::as_bytes(std::span(values)));
    return address;
  }
  template <typename T>
  std::vector<T> download(DeviceAddress address, std::size_t count) {
    std::vector<T> values(count);
    device->download(std::as_writable_bytes(std::span(values)), address);
    return values;
  }

  void run(const Plan& plan, const Buffers& buffers) {
    const std::optional<Failure> failure = device->run(*module, plan, buffers);
    if (failure) FAIL(failure->reason);
  }
  Timing time(const Plan& plan, const std::vector<Buffers>& rotation, bool cold) {
    TimingRequest request;
    request.cold = cold;
    std::optional<Failure> failure;
    const Timing timing = device->time(*module, plan, rotation, request, failure);
    if (failure) FAIL(failure->reason);
    return timing;
  }
};

Argument tensor(std::size_t index) {
  return {Argument::Kind::tensor, index};
}
Argument number(std::int32_t value) {
  return Argument::of_int(value);
}

Plan plan_of(const std::string& kernel, std::uint32_t blocks, std::uint32_t threads, std::vector<Argument> arguments) {
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.arguments = std::move(arguments);
  Plan plan;
  plan.launches.push_back(launch);
  return plan;
}

/// Runs a hidden test case of this executable in a process of its own.
int exit_code_of_child(const std::string& test_case) {
  const std::string program = std::filesystem::canonical("/proc/self/exe").string();
  const int status = std::system(("'" + program + "' '" + test_case + "' >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("the kernels of the GPU tests compile for an H200") {
  const std::unique_ptr<Compiler> compiler = new_nvrtc();
  for (const char* source :
       {kScaleKernel, kLargeSharedMemory, kCluster, kDependent, kCount, kTensorMap, kFault, kSpin, kRead}) {
    const auto result = compiler->compile(source, "sm_90a", 0);
    if (const Failure* failure = std::get_if<Failure>(&result)) FAIL_CHECK(failure->log);
  }
}

TEST_CASE("a GPU computes the results of a kernel", "[gpu]") {
  Gpu gpu(kScaleKernel);
  std::vector<float> x(1024);
  std::iota(x.begin(), x.end(), 0.0f);
  const DeviceAddress address = gpu.upload(x);
  gpu.run(plan_of("scale", 8, 128, {tensor(0), number(-3)}), {{address}, {}});
  for (float& value : x) value *= -3;
  CHECK(gpu.download<float>(address, x.size()) == x);
}

TEST_CASE("a GPU's memory is filled and copied byte by byte", "[gpu]") {
  Gpu gpu(kScaleKernel);
  const DeviceAddress address = gpu.device->allocate(1000, "bytes");
  CHECK(address % 256 == 0);
  gpu.device->fill(address, std::byte{0xa5}, 1000);
  gpu.device->upload(address + 17, std::vector<std::byte>(3, std::byte{1}));
  const std::vector<std::byte> content = gpu.download<std::byte>(address, 1000);
  CHECK(content[16] == std::byte{0xa5});
  CHECK(content[17] == std::byte{1});
  CHECK(content[19] == std::byte{1});
  CHECK(content[20] == std::byte{0xa5});
  CHECK(content[999] == std::byte{0xa5});
}

TEST_CASE("a GPU gives all the shared memory that it reports, and no more", "[gpu]") {
  Gpu gpu(kLargeSharedMemory);
  const auto limit = static_cast<std::uint32_t>(gpu.device->info().limits.smem_per_block_bytes);
  const auto words = static_cast<int>(limit / 4);
  const DeviceAddress out = gpu.device->allocate(limit, "out");
  Plan plan = plan_of("reverse", 1, 256, {tensor(0), number(words)});
  plan.launches[0].dynamic_smem_bytes = limit;
  gpu.run(plan, {{out}, {}});
  const std::vector<int> got = gpu.download<int>(out, static_cast<std::size_t>(words));
  CHECK(got.front() == words - 1);
  CHECK(got.back() == 0);

  plan.launches[0].dynamic_smem_bytes = limit + 1024;
  const std::optional<Failure> failure = gpu.device->run(*gpu.module, plan, {{out}, {}});
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::launch_failed);
  CHECK_FALSE(failure->device_lost);
}

TEST_CASE("a GPU runs clusters, the non-portable size included", "[gpu]") {
  Gpu gpu(kCluster, 90);
  const DeviceAddress out = gpu.device->allocate(64, "out");
  Plan plan = plan_of("cluster_size", 16, 32, {tensor(0)});
  for (std::uint32_t size : {1u, 2u, 8u, 16u}) {
    plan.launches[0].cluster = {size, 1, 1};
    gpu.run(plan, {{out}, {}});
    const std::vector<int> got = gpu.download<int>(out, 16);
    for (int block = 0; block < 16; ++block) {
      CHECK(got[static_cast<std::size_t>(block)] == static_cast<int>(size) * 100 + block % static_cast<int>(size));
    }
  }
}

TEST_CASE("a programmatic dependent launch sees what the launch ahead of it wrote", "[gpu]") {
  Gpu gpu(kDependent, 90);
  const DeviceAddress x = gpu.upload(std::vector<int>(32, 0));
  const DeviceAddress y = gpu.upload(std::vector<int>(32, 0));
  Plan plan = plan_of("first", 1, 32, {tensor(0)});
  plan.launches.push_back(plan_of("second", 1, 32, {tensor(0), tensor(1)}).launches[0]);
  plan.launches[1].programmatic = true;
  gpu.run(plan, {{x, y}, {}});
  CHECK(gpu.download<int>(y, 32)[31] == 64);
  // The same in a captured graph.
  gpu.device->fill(y, std::byte{0}, 128);
  gpu.time(plan, {{{x, y}, {}}}, false);
  CHECK(gpu.download<int>(y, 32)[31] == 64);
}

TEST_CASE("a zeroed workspace is zero at the start of every call, also within a timed graph", "[gpu]") {
  Gpu gpu(kCount);
  const DeviceAddress counter = gpu.upload(std::vector<int>{77});
  const DeviceAddress seen = gpu.upload(std::vector<int>{-1});
  Plan plan = plan_of("count", 1, 1, {{Argument::Kind::workspace, 0}, tensor(0)});
  plan.workspaces = {{"counter", 4, true}};
  gpu.run(plan, {{seen}, {counter}});
  CHECK(gpu.download<int>(seen, 1)[0] == 0);
  gpu.time(plan, {{{seen}, {counter}}}, false);
  CHECK(gpu.download<int>(seen, 1)[0] == 0);
  CHECK(gpu.download<int>(counter, 1)[0] == 1);
  if (gpu.device->info().limits.sm >= 90) {
    // A launch that may start early still comes after the zeroing ahead of it.
    plan.launches[0].programmatic = true;
    gpu.time(plan, {{{seen}, {counter}}}, false);
    CHECK(gpu.download<int>(seen, 1)[0] == 0);
    plan.launches[0].programmatic = false;
  }
  plan.workspaces[0].zeroed = false;
  gpu.run(plan, {{seen}, {counter}});
  CHECK(gpu.download<int>(seen, 1)[0] == 1);
}

TEST_CASE("a tensor map copies its box and reads zeros beyond the edge", "[gpu]") {
  Gpu gpu(kTensorMap, 90);
  constexpr std::size_t kRows = 100, kColumns = 128;
  std::vector<unsigned char> matrix(kRows * kColumns);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<unsigned char>(1 + i % 251);
  const DeviceAddress x = gpu.upload(matrix);
  const DeviceAddress out = gpu.device->allocate(32 * 64, "out");
  Plan plan = plan_of("copy_box", 1, 128, {{Argument::Kind::tensor_map, 0}, tensor(1), number(64), number(80)});
  plan.tensor_maps = {{"x_map", tensor(0), DType::e4m3, {kColumns, kRows}, {kColumns}, {64, 32}, 0}};
  gpu.run(plan, {{x, out}, {}});
  const std::vector<unsigned char> got = gpu.download<unsigned char>(out, 32 * 64);
  for (std::size_t row = 0; row < 32; ++row) {
    for (std::size_t column = 0; column < 64; ++column) {
      const bool inside = 80 + row < kRows;
      const unsigned char want = inside ? matrix[(80 + row) * kColumns + 64 + column] : 0;
      if (got[row * 64 + column] != want) FAIL("row " << row << " column " << column);
    }
  }
}

TEST_CASE("a GPU refuses a plan that does not fit the kernel and stays usable", "[gpu]") {
  Gpu gpu(kScaleKernel);
  const DeviceAddress x = gpu.upload(std::vector<float>(32, 1.0f));
  const auto refused = [&](const Plan& plan) {
    const std::optional<Failure> failure = gpu.device->run(*gpu.module, plan, {{x}, {}});
    REQUIRE(failure);
    CHECK(failure->verdict == Verdict::launch_failed);
    CHECK_FALSE(failure->device_lost);
  };
  refused(plan_of("scale", 1, 2048, {tensor(0), number(2)}));
  refused(plan_of("no_such_kernel", 1, 32, {tensor(0), number(2)}));
  refused(plan_of("scale", 0, 32, {tensor(0), number(2)}));
  gpu.run(plan_of("scale", 1, 32, {tensor(0), number(2)}), {{x}, {}});
  CHECK(gpu.download<float>(x, 1)[0] == 2.0f);
}

TEST_CASE("child: an illegal address on a GPU", "[.child]") {
  Gpu gpu(kFault);
  const DeviceAddress x = gpu.upload(std::vector<int>(32, 0));
  const std::optional<Failure> failure = gpu.device->run(*gpu.module, plan_of("fault", 1, 1, {tensor(0)}), {{x}, {}});
  REQUIRE(failure);
  CHECK(failure->verdict == Verdict::crashed);
  CHECK(failure->device_lost);
  CHECK_THROWS_AS(gpu.device->fill(x, std::byte{0}, 4), Error);
}

TEST_CASE("an illegal address loses the process's context, and a new process works", "[gpu]") {
  Gpu gpu(kScaleKernel);
  CHECK(exit_code_of_child("child: an illegal address on a GPU") == 0);
  const DeviceAddress x = gpu.upload(std::vector<float>(32, 1.0f));
  gpu.run(plan_of("scale", 1, 32, {tensor(0), number(2)}), {{x}, {}});
  CHECK(gpu.download<float>(x, 1)[0] == 2.0f);
}

TEST_CASE("a damaged cubin does not load", "[gpu]") {
  Gpu gpu(kScaleKernel);
  Binary binary;
  binary.arch = gpu.device->info().arch;
  binary.cubin.assign(256, std::byte{0x5a});
  std::optional<Failure> failure;
  CHECK(gpu.device->load(binary, failure) == nullptr);
  CHECK(failure);
}

TEST_CASE("an allocation beyond the GPU's memory is refused", "[gpu]") {
  Gpu gpu(kScaleKernel);
  CHECK_THROWS_MATCHES(gpu.device->allocate(std::size_t{1} << 46, "all of it"), Error,
                       MessageMatches(ContainsSubstring("all of it")));
}

TEST_CASE("a measured time covers what the kernel took, warm and cold", "[gpu]") {
  Gpu gpu(kSpin);
  const Plan plan = plan_of("spin", 1, 1, {number(30000)});
  for (bool cold : {false, true}) {
    const Timing timing = gpu.time(plan, {{}}, cold);
    // The global timer may tick in steps of 1 us.
    CHECK(timing.median_us >= 29);
    CHECK(timing.low_us <= timing.median_us);
    CHECK(timing.median_us <= timing.high_us);
    CHECK(timing.samples_us.size() >= 20);
    CHECK(timing.cold == cold);
    CHECK_FALSE(timing.modelled);
  }
}

TEST_CASE("an empty kernel is no faster than the launch floor", "[gpu]") {
  Gpu gpu(R"(extern "C" __global__ void nothing() {})");
  CHECK(gpu.time(plan_of("nothing", 1, 32, {}), {{}}, false).median_us >= gpu.device->info().launch_floor_us);
}

TEST_CASE("a cold read is slower than a warm one", "[gpu]") {
  Gpu gpu(kRead);
  const std::size_t bytes = static_cast<std::size_t>(gpu.device->info().l2_bytes) / 4;
  const DeviceAddress x = gpu.device->allocate(bytes, "x");
  gpu.device->fill(x, std::byte{0}, bytes);
  const DeviceAddress out = gpu.device->allocate(4, "out");
  const auto blocks = static_cast<std::uint32_t>(2 * gpu.device->info().limits.sm_count);
  const Plan plan = plan_of("read", blocks, 512, {tensor(0), number(static_cast<std::int32_t>(bytes / 16)), tensor(1)});
  const double warm_us = gpu.time(plan, {{{x, out}, {}}}, false).median_us;
  const double cold_us = gpu.time(plan, {{{x, out}, {}}}, true).median_us;
  CHECK(cold_us > warm_us);
  // A cold read faster than the memory would mean that the flush had no effect.
  CHECK(cold_us > static_cast<double>(bytes) / gpu.device->info().memory_gbytes_per_s * 1e-3);
}

TEST_CASE("NVML watches the GPU that CUDA opened", "[gpu]") {
  Gpu gpu(kScaleKernel);
  std::string why_not;
  const std::unique_ptr<cuda::GpuMonitor> monitor = cuda::make_nvml_monitor(gpu.device->info().uuid, &why_not);
  if (!monitor) SKIP(why_not);
  CHECK(monitor->clocks().sm_mhz > 0);
  CHECK(monitor->other_processes() >= 0);
  CHECK_FALSE(cuda::nvml_driver_version().empty());
  CHECK(cuda::make_nvml_monitor("GPU-00000000-0000-0000-0000-000000000000", &why_not) == nullptr);
  CHECK_FALSE(why_not.empty());
}

TEST_CASE("a GPU that does not exist is refused in one line") {
  CHECK_THROWS_MATCHES(cuda::make_device(1000), Error, MessageMatches(ContainsSubstring("cuda:1000")));
  std::string why_none;
  if (cuda::list_devices(&why_none).empty()) {
    CHECK_FALSE(why_none.empty());
    CHECK(why_none.find('\n') == std::string::npos);
  }
}
