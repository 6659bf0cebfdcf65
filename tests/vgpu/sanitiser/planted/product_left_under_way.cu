// run: --block 128 --arg out=float[128]:unset
// finds: unwaited_copy line 16: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16: its warp ends without having waited for this product
// The tensor cores may still read shared memory when it belongs to another block.
__device__ unsigned long long descriptor(const void* matrix) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(matrix));
  return (at & 0x3ffff) >> 4 | 8ull << 16 | 16ull << 32;
}
__global__ void product(float* out) {
  __shared__ alignas(128) unsigned short a[64 * 16], b[8 * 16];
  for (int i = threadIdx.x; i < 64 * 16; i += 128) a[i] = 0x3c00;
  b[threadIdx.x] = 0x3c00;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a)), "l"(descriptor(b)));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  out[threadIdx.x] = 1;
}
