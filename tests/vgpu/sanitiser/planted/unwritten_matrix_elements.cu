// run: --block 32 --arg out=unsigned[32]:unset
// finds: uninitialised line 11: reads 16 bytes at byte 0 of 's'
// Every row's last elements are missing. Transposed, they go to the last lanes.
__global__ void transposed(unsigned* out) {
  __shared__ __align__(16) unsigned s[32];
  const int t = threadIdx.x;
  if (t % 4 < 3) s[t] = t;
  __syncwarp();
  unsigned r;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&s[t % 8 * 4]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at));
  if (t < 28) out[t] = r + 1;
}
