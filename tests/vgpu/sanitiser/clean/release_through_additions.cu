// run: --grid 3 --block 32 --strict --arg flag=int[1]:zeros --arg data=int[1]:unset --arg out=int[1]:unset
// The first block releases its data with the flag. The second one adds to the flag: what it leaves still releases them.
__global__ void hand_on(int* flag, int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 5;
    asm volatile("st.release.gpu.global.b32 [%0], 1;" ::"l"(flag) : "memory");
  }
  int seen;
  do {
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  } while (seen < blockIdx.x);
  if (blockIdx.x == 1) asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(flag) : "memory");
  if (blockIdx.x == 2) out[0] = data[0];
}
