#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {

/// A kernel of one warp around PTX: r0, r1 ... hold the lane's words of the first argument, and o0, o1 ... go to the second.
/// r.b32 t0-t7, .b64 d0-d15 and predicates p q s are free; `smem` is 1 KiB of shared memory.
inline std::string warp_kernel(const std::string& body, int in_words, int out_words) {
  const auto number = [](int i) { return std::to_string(i); };
  std::string ptx = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
                    ".reg .b32 r<64>, o<64>, t<8>, lane; .reg .b64 d<16>, from, to; .reg .pred p, q, s;\n"
                    ".shared .align 128 .b8 smem[1024];\n"
                    "ld.param.u64 from, [in]; ld.param.u64 to, [out]; mov.u32 lane, %tid.x;\n"
                    "mad.wide.u32 from, lane, " + number(4 * in_words) + ", from;\n"
                    "mad.wide.u32 to, lane, " + number(4 * out_words) + ", to;\n";
  for (int i = 0; i < in_words; ++i) ptx += "ld.global.b32 r" + number(i) + ", [from+" + number(4 * i) + "];\n";
  ptx += body + "\n";
  for (int i = 0; i < out_words; ++i) ptx += "st.global.b32 [to+" + number(4 * i) + "], o" + number(i) + ";\n";
  return ptx + "ret; }\n";
}

/// Words of all lanes, lane after lane.
inline std::vector<std::uint32_t> run_warp(const std::string& body, int in_words, int out_words,
                                           const std::vector<std::uint32_t>& in) {
  TestGpu gpu;
  gpu.load_ptx(warp_kernel(body, in_words, out_words));
  const auto from = gpu.upload("in", in);
  const auto to = gpu.allocate("out", 32 * 4 * static_cast<std::size_t>(out_words));
  if (const auto failure = gpu.launch("k", {}, from, to)) FAIL(failure->reason);
  return gpu.download<std::uint32_t>(to, 32 * static_cast<std::size_t>(out_words));
}

}  // namespace evo::vgpu
