// run: --block 32 --arg out=float[32]:unset --arg x=float[160]:normal
// finds: bad_access line 12: writes 16 bytes
// Copies by cp.async: one of them too many for the array, in the beginning of the next one.
__global__ void stage(float* out, const float* x) {
  __shared__ __align__(16) float tile[124];
  __shared__ __align__(16) float rest[32];
  const int t = threadIdx.x;
  rest[t] = 1;
  __syncwarp();
  float* const to = tile + 4 * t;
  const unsigned into = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(into), "l"(x + 4 * t) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  out[t] = tile[t] + rest[t];
}
