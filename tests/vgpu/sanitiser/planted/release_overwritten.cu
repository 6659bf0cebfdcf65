// run: --grid 3 --block 32 --arg flag=int[1]:zeros --arg data=int[1]:unset --arg out=int[1]:unset
// finds: race line 17: block (0, 0, 0), thread (0, 0, 0)'s st.global.u32 in line 7
// The first block releases its data with the flag. The second one has not looked at it, and writes another value over
// it: who sees that one has not acquired the data.
__global__ void hand_on(int* flag, int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) data[0] = 5;
  if (blockIdx.x == 0) asm volatile("st.release.gpu.global.b32 [%0], 1;" ::"l"(flag) : "memory");
  if (blockIdx.x == 1) asm volatile("st.relaxed.gpu.global.b32 [%0], 2;" ::"l"(flag) : "memory");
  if (blockIdx.x == 2) {
    int seen = 0;
    while (seen == 0) {
      asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    }
    // The block that wrote 2 has no fence, and its write is no read-modify-write.
    if (seen == 2) {
      out[0] = data[0];
    }
  }
}
