// run: --block 32 --arg out=unsigned[32]:unset --arg x=unsigned[256]:iota
// Two arrays in turn for cp.async and ldmatrix, chosen by the step; a table of pointers; a function that is not inlined.
__device__ __noinline__ unsigned at(const unsigned* p, int i) { return p[i]; }
__global__ void tiles(unsigned* out, const unsigned* x) {
  __shared__ __align__(16) unsigned even[128];
  __shared__ __align__(16) unsigned odd[128];
  unsigned* const both[2] = {even, odd};
  const int t = threadIdx.x;
  unsigned sum = 0;
  for (int step = 0; step < 4; ++step) {
    unsigned* const tile = step & 1 ? odd : even;
    const unsigned into = static_cast<unsigned>(__cvta_generic_to_shared(tile + 4 * t));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(into), "l"(x + 4 * t + step * 32) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(into));
    sum += r[0] + r[3] + both[step & 1][127 - t] + at(tile, t);
    __syncwarp();
  }
  out[t] = sum;
}
