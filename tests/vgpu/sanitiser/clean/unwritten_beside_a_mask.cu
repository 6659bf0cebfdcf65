// run: --block 32 --strict --arg out=int[32]:unset --arg in=int[32]:iota
// Two values are unwritten, and a mask without their bits leaves neither.
__global__ void masked(int* out, const int* in) {
  __shared__ int a[64], b[64];
  const int i = threadIdx.x;
  a[2 * i] = b[2 * i] = in[i];
  __syncwarp();
  const int none = in[i] >> 8;
  out[i] = ((a[2 * i + 1] ^ b[2 * i + 1]) & none) | a[2 * i];
}
