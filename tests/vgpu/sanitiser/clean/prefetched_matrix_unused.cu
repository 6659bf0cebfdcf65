// run: --block 32 --arg out=unsigned[64]:unset
// The tile beyond the end is prefetched into registers and not used. Of the last one half a row is filled, and only those
// elements are used.
__global__ void tiles(unsigned* out) {
  __shared__ __align__(16) unsigned s[3][128];
  const int t = threadIdx.x;
  for (int i = t; i < 128; i += 32) s[0][i] = i;
  for (int i = t; i < 128; i += 32)
    if (i % 4 < 2) s[2][i] = i;
  __syncwarp();
  unsigned r[3][4];
#pragma unroll
  for (int tile = 0; tile < 3; ++tile) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&s[tile][t * 4]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[tile][0]), "=r"(r[tile][1]), "=r"(r[tile][2]), "=r"(r[tile][3])
                 : "r"(at));
  }
  out[t] = r[0][0] + r[0][3];
  if (t % 4 < 2) out[32 + t] = r[2][1] * 2;
}
