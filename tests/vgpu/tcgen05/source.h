#pragma once

#include <string>
#include <string_view>

/// CUDA for tests of tensor memory.
namespace evo::vgpu {

/// Functions that kernels of these tests share. GROUP is 1 or 2.
inline constexpr std::string_view kTensorPrelude = R"(
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(void* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(barrier)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void await(void* barrier, int parity) {
  asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}"
               ::"r"(at(barrier)), "r"(parity) : "memory");
}
__device__ void allocate(unsigned* slot, unsigned columns) {
  asm volatile("tcgen05.alloc.cta_group::GROUP.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(at(slot)), "r"(columns)
               : "memory");
}
__device__ void release(unsigned address, unsigned columns) {
  asm volatile("tcgen05.dealloc.cta_group::GROUP.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns));
}
__device__ void commit(void* barrier) {
  asm volatile("tcgen05.commit.cta_group::GROUP.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(barrier))
               : "memory");
}
__device__ void before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ void after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
__device__ unsigned load(unsigned address) {
  unsigned word;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(word) : "r"(address));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  return word;
}
__device__ void store(unsigned address, unsigned word) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(address), "r"(word) : "memory");
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
)";

inline std::string with(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace evo::vgpu
