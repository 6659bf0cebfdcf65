// Compares the launch rules with the driver of the first GPU: the device's attributes, and for 200 kernels of various
// registers, shared memory, barriers and blocks the number of blocks that an SM holds. Nothing is launched.
// usage: evo_gpu_occupancy. Prints a line for each disagreement; exit code 1 when there is one.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/launch_rules.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/cuda/device_query.h"
#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/handles.h"

namespace {

using namespace evo;
using namespace evo::cuda;

/// Functions of the driver that only this program needs.
struct OccupancyFunctions {
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) blocks_per_sm = nullptr;
  decltype(&cuFuncGetAttribute) function_attribute = nullptr;

  explicit OccupancyFunctions(const Driver& driver) {
    if (!driver.library.bind(blocks_per_sm, "cuOccupancyMaxActiveBlocksPerMultiprocessor") ||
        !driver.library.bind(function_attribute, "cuFuncGetAttribute"))
      throw machine_error("the NVIDIA driver has no occupancy calculator");
  }
};

struct TestKernel {
  std::string name;
  int values = 1;  ///< That each thread keeps in registers.
  int threads = 32;
  bool bounded = false;  ///< Built with __launch_bounds__(threads).
  int static_smem_bytes = 0;
  int dynamic_smem_bytes = 0;
  int barriers = 0;

  std::string source() const {
    std::string text = fmt::format("extern \"C\" __global__ void {}{}(float* data, int rounds) {{\n",
                                   bounded ? fmt::format("__launch_bounds__({}) ", threads) : "", name);
    text += fmt::format(
        "  float a[{0}];\n"
        "  #pragma unroll\n"
        "  for (int i = 0; i < {0}; ++i) a[i] = data[i * 1024 + threadIdx.x];\n"
        "  #pragma unroll 1\n"
        "  for (int r = 0; r < rounds; ++r) {{\n"
        "    #pragma unroll\n"
        "    for (int i = 0; i < {0}; ++i) a[i] = a[i] * a[(i + 1) % {0}] + data[r];\n"
        "  }}\n",
        values);
    if (static_smem_bytes > 0)
      text += fmt::format(
          "  __shared__ float shared[{0}];\n"
          "  shared[threadIdx.x % {0}] = a[0];\n"
          "  a[0] += shared[(threadIdx.x + rounds) % {0}];\n",
          static_smem_bytes / 4);
    for (int id = 0; id < barriers; ++id)
      text += fmt::format("  asm volatile(\"bar.sync {}, {};\" ::: \"memory\");\n", id, (threads + 31) / 32 * 32);
    text += fmt::format(
        "  #pragma unroll\n"
        "  for (int i = 0; i < {}; ++i) data[i * 1024 + threadIdx.x] = a[i];\n"
        "}}\n",
        values);
    return text;
  }
};

constexpr int kSources = 10;
constexpr int kKernelsOfSource = 20;
constexpr std::array kRegisterCaps = {0, 32, 64, 96, 0, 128, 168, 0, 200, 255};  ///< Of each source; 0: no cap.

/// Every kernel differs from the others in several ways at once.
TestKernel test_kernel(int number) {
  constexpr std::array kValues = {1, 4, 12, 20, 28, 44, 60, 84, 108, 140, 156, 180, 212, 236};
  constexpr std::array kThreads = {32, 64, 96, 100, 128, 160, 192, 224, 256, 288, 320, 352, 384, 512, 640, 768, 1024};
  constexpr std::array kStatic = {0, 0, 0, 4, 1024, 1100, 12288, 33000, 49152};
  constexpr std::array kDynamic = {0, 0, 0, 128, 1000, 16384, 40000, 65536, 100000, 150000, 180000};
  constexpr std::array kBarriers = {0, 1, 1, 2, 3, 5, 8, 16};
  const auto pick = [&](const auto& values, int stride) {
    return values[static_cast<std::size_t>(number * stride + number / 7) % values.size()];
  };
  TestKernel kernel;
  kernel.name = fmt::format("k{}", number);
  kernel.values = pick(kValues, 3);
  kernel.threads = pick(kThreads, 5);
  kernel.bounded = number % 2 == 1;
  kernel.static_smem_bytes = pick(kStatic, 2);
  kernel.dynamic_smem_bytes = pick(kDynamic, 7);
  kernel.barriers = pick(kBarriers, 3);
  return kernel;
}

class Comparison {
 public:
  Comparison(const Driver& driver, int ordinal)
      : driver_(driver), functions_(driver), limits_(query_device(driver, ordinal).limits) {
    require(driver, driver.device_get(&device_, ordinal), "cuDeviceGet");
    context_ = std::make_unique<PrimaryContext>(driver, device_, "cuda:0");
  }

  /// True when driver and rules agree.
  bool attributes() {
    const LaunchRules& rules = launch_rules(limits_.sm);
    std::printf("compute capability %d.%d\n", limits_.sm / 10, limits_.sm % 10);
    if (rules.sm != limits_.sm) {
      std::printf("the table of launch rules does not have it\n");
      return false;
    }
    struct Expected {
      const char* what;
      CUdevice_attribute attribute;
      std::int64_t value;
    };
    const Expected expected[] = {
        {"warp size", CU_DEVICE_ATTRIBUTE_WARP_SIZE, kWarpSize},
        {"threads an SM", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, rules.threads_per_sm()},
        {"blocks an SM", CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, rules.blocks_per_sm},
        {"registers an SM", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, rules.registers_per_sm},
        {"registers a block", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, kRegistersPerBlock},
        {"shared memory an SM", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, rules.smem_per_sm_bytes()},
        {"shared memory a block", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kSmemPerBlockBytes},
        {"shared memory a block, opted in", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         rules.smem_per_block_optin_bytes()},
        {"shared memory reserved", CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, rules.smem_reserved_bytes},
        {"threads a block", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMaxThreadsPerBlock},
        {"block in x", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, kMaxBlock[0]},
        {"block in y", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, kMaxBlock[1]},
        {"block in z", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, kMaxBlock[2]},
        {"grid in x", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, kMaxGrid[0]},
        {"grid in y", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, kMaxGrid[1]},
        {"grid in z", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, kMaxGrid[2]},
        {"clusters", CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, rules.clusters ? 1 : 0},
    };
    std::size_t agree = 0;
    for (const Expected& one : expected) {
      int found = 0;
      require(driver_, driver_.device_attribute(&found, one.attribute, device_), "cuDeviceGetAttribute");
      if (found == one.value)
        ++agree;
      else
        std::printf("%s: the driver says %d, the rules %lld\n", one.what, found, static_cast<long long>(one.value));
    }
    std::printf("%zu attributes: %zu agree\n", std::size(expected), agree);
    return agree == std::size(expected);
  }

  bool kernels() {
    const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler();
    for (int source = 0; source < kSources; ++source) compare_source(*compiler, source);
    std::printf("registers: %d to %d; limited by", *std::ranges::min_element(registers_),
                *std::ranges::max_element(registers_));
    for (std::size_t i = 0; i < limited_by_.size(); ++i)
      std::printf(" %s: %d", std::string(name_of(static_cast<SmResource>(i))).c_str(), limited_by_[i]);
    std::printf("; no block fits: %d\n", none_fits_);
    std::printf("%zu kernels: %d agree\n", registers_.size(), agree_);
    return agree_ == kSources * kKernelsOfSource;
  }

 private:
  void compare_source(Compiler& compiler, int source) {
    std::vector<TestKernel> kernels;
    std::string text;
    for (int i = 0; i < kKernelsOfSource; ++i) {
      kernels.push_back(test_kernel(source * kKernelsOfSource + i));
      text += kernels.back().source();
    }
    const std::string arch = arch_name(limits_.sm / 10, limits_.sm % 10);
    const auto compiled = compiler.compile(text, arch, kRegisterCaps[static_cast<std::size_t>(source)]);
    if (const auto* failure = std::get_if<Failure>(&compiled))
      throw machine_error("a test kernel does not compile: " + failure->reason + "\n" + failure->log);
    CUmodule module = nullptr;
    require(driver_, driver_.module_load(&module, std::get<Binary>(compiled).cubin.data()), "cuModuleLoadData");
    const OwnedModule owned(driver_, module);
    for (const TestKernel& kernel : kernels) compare_kernel(module, kernel);
  }

  int attribute(CUfunction function, CUfunction_attribute which) const {
    int value = 0;
    require(driver_, functions_.function_attribute(&value, which, function), "cuFuncGetAttribute");
    return value;
  }

  void compare_kernel(CUmodule module, const TestKernel& kernel) {
    CUfunction function = nullptr;
    require(driver_, driver_.module_function(&function, module, kernel.name.c_str()), "cuModuleGetFunction");
    const int registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    const int static_bytes = attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    const auto most_dynamic = static_cast<int>(limits_.smem_per_block_bytes) - static_bytes;
    require(driver_,
            driver_.function_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most_dynamic),
            "cuFuncSetAttribute");
    // The driver answers for launches that it would start: what is beyond the opt-in is left to illegal_launch().
    const int dynamic_bytes = std::min(kernel.dynamic_smem_bytes, most_dynamic);
    int found = -1;
    const CUresult result =
        functions_.blocks_per_sm(&found, function, kernel.threads, static_cast<std::size_t>(dynamic_bytes));
    const BlockNeeds needs{kernel.threads, registers, static_bytes + std::int64_t{dynamic_bytes}, kernel.barriers};
    const Occupancy ours = occupancy(limits_, needs);
    registers_.push_back(registers);
    ++limited_by_[static_cast<std::size_t>(ours.limit)];
    none_fits_ += ours.blocks == 0;
    if (result == CUDA_SUCCESS && found == ours.blocks) {
      ++agree_;
      return;
    }
    const std::string theirs = result == CUDA_SUCCESS ? std::to_string(found) : describe(driver_, result);
    std::printf("%s: %d registers, %d threads%s, %d + %d bytes, %d barriers: the driver says %s, the rules %d (%s)\n",
                kernel.name.c_str(), registers, kernel.threads, kernel.bounded ? " (bound)" : "", static_bytes,
                dynamic_bytes, kernel.barriers, theirs.c_str(), ours.blocks, std::string(name_of(ours.limit)).c_str());
  }

  const Driver& driver_;
  OccupancyFunctions functions_;
  DeviceLimits limits_;
  CUdevice device_ = 0;
  std::unique_ptr<PrimaryContext> context_;
  std::vector<int> registers_;
  std::array<int, 5> limited_by_{};
  int none_fits_ = 0;
  int agree_ = 0;
};

}  // namespace

int main() {
  try {
    std::string why;
    const auto driver = load_driver(&why);
    if (!driver || count_devices(*driver, &why) == 0) throw machine_error(why);
    Comparison comparison(*driver, 0);
    const bool attributes = comparison.attributes();
    const bool kernels = comparison.kernels();
    return attributes && kernels ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "evo_gpu_occupancy: %s\n", error.what());
    return 3;
  }
}
