// run: --block 32 --arg out=int[32]:unset --arg in=int[32]:iota
// Upper and lower lanes execute shuffles of their own, with one mask: they meet.
__global__ void swap_halves(int* out, const int* in) {
  const int lane = threadIdx.x;
  const int mine = in[lane];
  int other;
  if (lane < 16) {
    other = __shfl_xor_sync(~0u, mine + 100, 16) * 2;
  } else {
    other = __shfl_xor_sync(~0u, mine * 7, 16) - 1;
  }
  out[lane] = other;
}
