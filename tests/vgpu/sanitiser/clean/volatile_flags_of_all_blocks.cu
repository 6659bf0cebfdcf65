// run: --grid 8 --block 32 --strict --arg flag=int[8]:zeros --arg out=int[1]:unset
// The first block waits until all others have set their flags. Each round looks at all of them again.
__global__ void gather(volatile int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x != 0) {
    flag[blockIdx.x] = 1;
    return;
  }
  int set = 0;
  while (set < gridDim.x - 1) {
    set = 0;
    for (int i = 1; i < gridDim.x; ++i) set += flag[i];
  }
  out[0] = set;
}
