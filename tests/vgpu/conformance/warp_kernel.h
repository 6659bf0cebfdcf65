#pragma once

#include <string>

namespace evo::conformance {

/// A kernel around PTX: r0, r1 ... hold the thread's words of the first argument, and o0, o1 ... go to the second.
/// r.b32 t0-t7, .b64 d0-d31 and predicates p q s are free; `lane` is %tid.x, `from` and `to` point at the thread's
/// words, `from_block` and `to_block` at the block's; `smem` is 1 KiB of shared memory. `directives` stand before the
/// body: .maxntid.
inline std::string warp_kernel(const std::string& body, int in_words, int out_words,
                               const std::string& directives = "") {
  const auto number = [](int i) { return std::to_string(i); };
  std::string ptx =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) " +
      directives +
      " {\n"
      ".reg .b32 r<64>, o<64>, t<8>, lane; .reg .b64 d<32>, from, to, from_block, to_block; .reg .pred p, q, s;\n"
      ".shared .align 128 .b8 smem[1024];\n"
      "ld.param.u64 from_block, [in]; ld.param.u64 to_block, [out];\n"
      "mov.u32 lane, %ntid.x; mov.u32 t0, %ctaid.x; mul.lo.u32 t0, t0, lane; mov.u32 lane, %tid.x;\n"
      "mad.wide.u32 from_block, t0, " +
      number(4 * in_words) +
      ", from_block;\n"
      "mad.wide.u32 to_block, t0, " +
      number(4 * out_words) +
      ", to_block;\n"
      "mad.wide.u32 from, lane, " +
      number(4 * in_words) +
      ", from_block;\n"
      "mad.wide.u32 to, lane, " +
      number(4 * out_words) + ", to_block;\n";
  for (int i = 0; i < in_words; ++i) ptx += "ld.global.b32 r" + number(i) + ", [from+" + number(4 * i) + "];\n";
  ptx += body + "\n";
  for (int i = 0; i < out_words; ++i) ptx += "st.global.b32 [to+" + number(4 * i) + "], o" + number(i) + ";\n";
  return ptx + "ret; }\n";
}

}  // namespace evo::conformance
