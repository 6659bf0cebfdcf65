// run: --block 64 --arg out=float[64]:unset --arg in=float[64]:iota
// finds: race line 10: in line 7 (a write): no barrier lies between them
// finds: uninitialised line 10: of 'tile'
__global__ void stage(float* out, const float* in) {
  __shared__ float tile[64];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
