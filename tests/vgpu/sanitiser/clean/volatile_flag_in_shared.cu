// run: --block 64 --arg out=int[64]:unset
// The second warp waits, in a loop, for a flag that the first one sets behind a fence.
__global__ void hand_over(int* out) {
  __shared__ volatile int flag;
  __shared__ int data[32];
  const int i = threadIdx.x;
  if (i == 0) flag = 0;
  __syncthreads();
  if (i < 32) {
    data[i] = i * 2;
    __threadfence_block();
    __syncwarp();
    if (i == 0) flag = 1;
    out[i] = 0;
  } else {
    while (flag == 0) {
    }
    __threadfence_block();
    out[i] = data[i - 32];
  }
}
