// run: --grid 2 --block 32 --arg lock=int[1]:zeros --arg data=int[1]:unset --arg out=int[1]:unset
// finds: race line 13: 'data'
// What is seen is the addition alone: without a fence before it, the data may come later.
__global__ void hand_over(int* lock, int* data, int* out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 1) {
    data[0] = 5;
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(lock), "r"(1) : "memory");
  } else {
    int state;
    do asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(lock) : "memory");
    while (state != 1);
    out[0] = data[0];
    lock[0] = 0;
  }
}
