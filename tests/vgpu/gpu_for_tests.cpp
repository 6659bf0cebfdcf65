#include "tests/vgpu/gpu_for_tests.h"

#include <fmt/core.h>

#include <variant>

#include "engine/base/error.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"

namespace evo::vgpu {

std::string ptx_of(std::string_view source, std::string_view arch) {
  std::unique_ptr<Compiler> compiler;
  try {
    compiler = make_nvrtc_compiler();
  } catch (const Error& error) {
    SKIP("no NVRTC on this machine: " << error.what());
  }
  auto result = compiler->compile(source, arch, 0);
  if (const auto* failure = std::get_if<Failure>(&result)) FAIL(failure->reason << "\n" << failure->log);
  return std::get<Binary>(result).ptx;
}

void TestGpu::load_cuda(std::string_view source, std::string_view arch) {
  load_ptx(ptx_of(source, arch));
}

std::optional<Failure> TestGpu::launch_with(std::string_view name, const Geometry& geometry,
                                            const std::vector<std::vector<std::byte>>& arguments) {
  const Kernel* kernel = module_->kernel(name);
  REQUIRE(kernel != nullptr);
  REQUIRE(kernel->parameters.size() == arguments.size());
  Launch launch;
  launch.kernel = kernel;
  launch.memory = &memory_;
  launch.objects = &objects_;
  launch.grid = geometry.grid;
  launch.block = geometry.block;
  launch.dynamic_smem_bytes = geometry.dynamic_smem_bytes;
  launch.cluster = geometry.cluster;
  launch.registers_per_thread = geometry.registers_per_thread;
  launch.numerics = tensor_core_numerics(module_->target().starts_with("sm_12") ? 120 : 90);
  launch.sm_count = 4;
  launch.resident_blocks = 64;
  launch.budget = budget_;
  launch.threads = threads_;
  launch.parameters.assign(kernel->parameter_bytes, std::byte{0});
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    REQUIRE(kernel->parameters[i].bytes == arguments[i].size());
    std::memcpy(launch.parameters.data() + kernel->parameters[i].offset, arguments[i].data(), arguments[i].size());
  }
  run_blocks(launch, {tracer_, traced_blocks_});
  printed_ = launch.printed;
  executed_ = launch.executed;
  return launch.failure;
}

std::vector<std::uint64_t> run_snippet(const std::string& instructions, int result_bits,
                                       const std::vector<Inputs>& inputs, Simd simd, std::string_view arch) {
  const std::string widen = result_bits == 64   ? ""
                            : result_bits == 32 ? "cvt.u64.u32 d64, d32;"
                                                : "cvt.u64.u16 d64, d16;";
  const std::string ptx = fmt::format(R"(
.version 9.0
.target {}
.address_size 64
.visible .entry snippet(.param .u64 out, .param .u64 in, .param .u32 count)
{{
  .reg .b16 a16, b16, c16, d16;
  .reg .b32 a32, b32, c32, d32, index, count_r, block, size;
  .reg .b64 a64, b64, c64, d64, out_r, in_r, offset;
  .reg .pred p, q, r, outside;
  mov.u32 index, %tid.x;
  mov.u32 block, %ctaid.x;
  mov.u32 size, %ntid.x;
  mad.lo.u32 index, block, size, index;
  ld.param.u32 count_r, [count];
  setp.ge.u32 outside, index, count_r;
  @outside bra done;
  ld.param.u64 in_r, [in];
  ld.param.u64 out_r, [out];
  mul.wide.u32 offset, index, 24;
  add.u64 in_r, in_r, offset;
  ld.global.u64 a64, [in_r];
  ld.global.u64 b64, [in_r+8];
  ld.global.u64 c64, [in_r+16];
  cvt.u32.u64 a32, a64; cvt.u32.u64 b32, b64; cvt.u32.u64 c32, c64;
  cvt.u16.u64 a16, a64; cvt.u16.u64 b16, b64; cvt.u16.u64 c16, c64;
  setp.ne.u64 p, a64, 0;
  setp.ne.u64 q, b64, 0;
  mov.b64 d64, 0; mov.b32 d32, 0; mov.b16 d16, 0;
  {}
  {}
  mul.wide.u32 offset, index, 8;
  add.u64 out_r, out_r, offset;
  st.global.u64 [out_r], d64;
done:
  ret;
}}
)",
                                      arch, instructions, widen);
  TestGpu gpu(simd);
  gpu.load_ptx(ptx);
  const std::uint64_t in = gpu.upload("in", inputs);
  const std::uint64_t out = gpu.allocate("out", inputs.size() * 8);
  const auto blocks = static_cast<std::uint32_t>((inputs.size() + 127) / 128);
  const auto failure =
      gpu.launch("snippet", {{blocks, 1, 1}, {128, 1, 1}}, out, in, static_cast<std::uint32_t>(inputs.size()));
  if (failure) FAIL(instructions << ": " << failure->reason);
  return gpu.download<std::uint64_t>(out, inputs.size());
}

std::vector<Simd> all_simd() {
  std::vector<Simd> result{Simd::plain};
  if (best_simd() >= Simd::avx2) result.push_back(Simd::avx2);
  if (best_simd() >= Simd::avx512) result.push_back(Simd::avx512);
  return result;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace evo::vgpu
