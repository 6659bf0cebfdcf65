#pragma once

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/loaded_module.h"
#include "evaluator/vgpu/machine/block_scheduler.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/textures/object_table.h"

namespace evo::vgpu {

/// A virtual GPU without Device: kernels take any arguments, and tests choose the CPU's vectors and the budget.
class TestGpu {
 public:
  explicit TestGpu(Simd simd = best_simd()) { options_.simd = simd; }

  /// Throws LoadError.
  void load_ptx(std::string ptx) {
    module_ = std::make_unique<LoadedModule>(memory_, std::move(ptx), Build{}, options_);
  }
  /// Compiles with NVRTC; fails the test with its log. Skips the test where there is no NVRTC.
  void load_cuda(std::string_view source, std::string_view arch = "sm_90a");

  std::uint64_t allocate(const std::string& name, std::size_t bytes) { return memory_.allocate(bytes, name); }
  template <class T>
  std::uint64_t upload(const std::string& name, const std::vector<T>& values) {
    const std::uint64_t address = memory_.allocate(values.size() * sizeof(T), name);
    if (!values.empty())
      std::memcpy(memory_.at(address, values.size() * sizeof(T)), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <class T>
  std::vector<T> download(std::uint64_t address, std::size_t count) const {
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), memory_.at(address, count * sizeof(T)), count * sizeof(T));
    return values;
  }

  struct Geometry {
    std::array<std::uint32_t, 3> grid{1, 1, 1};
    std::array<std::uint32_t, 3> block{32, 1, 1};
    std::uint32_t dynamic_smem_bytes = 0;
    std::array<std::uint32_t, 3> cluster{1, 1, 1};
    std::uint32_t registers_per_thread = 0;
  };
  template <class... Arguments>
  std::optional<Failure> launch(std::string_view kernel, const Geometry& geometry, Arguments... arguments) {
    std::vector<std::vector<std::byte>> bytes;
    (bytes.push_back(bytes_of(arguments)), ...);
    return launch_with(kernel, geometry, bytes);
  }

  ObjectTable& objects() { return objects_; }
  const LoadedModule& module() const { return *module_; }
  const std::string& printed() const { return printed_; }
  std::uint64_t executed() const { return executed_; }
  void set_budget(Budget budget) { budget_ = budget; }
  void set_threads(int threads) { threads_ = threads; }
  void trace_with(Tracer& tracer, std::vector<std::uint64_t> blocks) {
    tracer_ = &tracer;
    traced_blocks_ = std::move(blocks);
  }

 private:
  template <class T>
  static std::vector<std::byte> bytes_of(const T& value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }
  std::optional<Failure> launch_with(std::string_view kernel, const Geometry& geometry,
                                     const std::vector<std::vector<std::byte>>& arguments);

  DecodeOptions options_;
  GlobalMemory memory_;
  ObjectTable objects_;
  std::unique_ptr<LoadedModule> module_;
  Budget budget_;
  int threads_ = 1;
  Tracer* tracer_ = nullptr;
  std::vector<std::uint64_t> traced_blocks_;
  std::string printed_;
  std::uint64_t executed_ = 0;
};

/// Compiles to PTX with NVRTC. Skips the test where there is no NVRTC.
std::string ptx_of(std::string_view source, std::string_view arch = "sm_90a");

/// The operands of one thread of a snippet.
struct Inputs {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

/// Runs PTX instructions in one thread for each of `inputs`. Registers: a16 b16 c16 d16, a32 ..., a64 ...
/// hold operands and result in each width, p q r are predicates, p starts as (a != 0), q as (b != 0). Returns
/// d of `result_bits`, zero-extended. Fails the test when loading or running does.
std::vector<std::uint64_t> run_snippet(const std::string& instructions, int result_bits,
                                       const std::vector<Inputs>& inputs, Simd simd = best_simd(),
                                       std::string_view arch = "sm_90a");

/// The vector instruction sets of this CPU. All must give the same bits.
std::vector<Simd> all_simd();

/// True when `part` occurs in a text, such as the reason of a failure.
bool contains(std::string_view text, std::string_view part);

}  // namespace evo::vgpu
