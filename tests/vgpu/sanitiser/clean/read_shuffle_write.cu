// run: --block 32 --arg out=int[32]:unset --arg in=int[32]:iota
// The lanes that read the slot meet at a shuffle before one of them writes it again.
__global__ void prefix(int* out, const int* in) {
  __shared__ int slot;
  if (threadIdx.x == 31) slot = 0;
  __syncwarp();
  int value = in[threadIdx.x];
  for (int round = 0; round < 3; ++round) {
    const int before = slot;
    value = __shfl_xor_sync(0xffffffff, value + before, 1 << round);
    const int next = __shfl_sync(0xffffffff, value, 5);
    if (threadIdx.x == 31) slot = next;
    __syncwarp();
  }
  out[threadIdx.x] = value;
}
