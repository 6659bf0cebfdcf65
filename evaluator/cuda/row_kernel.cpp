#include "evaluator/cuda/row_kernel.h"

#include <algorithm>
#include <string>

namespace evo::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMaxBlocks = 1024;

}  // namespace

RowKernel::RowKernel(const Driver& driver, const char* ptx, const char* name) : driver_(driver) {
  CUmodule module = nullptr;
  require(driver, driver.module_load(&module, ptx), std::string("loading the kernel ") + name);
  module_ = OwnedModule(driver, module);
  require(driver, driver.module_function(&function_, module, name), std::string("the kernel ") + name);
}

CUresult RowKernel::launch(std::size_t rows, std::uint64_t units, std::span<void*> parameters, CUstream stream) const {
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(std::clamp<std::uint64_t>((units + kThreads - 1) / kThreads, 1, kMaxBlocks));
  config.gridDimY = static_cast<unsigned>(rows);
  config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  return driver_.launch(&config, function_, parameters.data(), nullptr);
}

}  // namespace evo::cuda
