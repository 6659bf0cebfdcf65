// run: --block 32 --arg out=float[32]:unset --arg in=float[32]:unset
// finds: uninitialised line 9: of 'tile'
// Copying unwritten bytes is no use of them; the load after it is.
__global__ void stage(float* out, const float* in) {
  __shared__ float tile[32];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[threadIdx.x] = tile[threadIdx.x] + 1.0f;
}
