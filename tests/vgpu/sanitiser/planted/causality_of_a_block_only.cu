// run: --grid 3 --block 32 --arg flags=int[2]:zeros --arg data=int[1]:unset --arg out=int[1]:unset
// finds: race line 17: block (0, 0, 0), thread (0, 0, 0)'s st.global.u32 in line 8
// The second block hands on what it has seen of the first one without a fence of its own.
__global__ void hand_on(int* flags, int* data, int* out) {
  if (threadIdx.x != 0) return;
  int seen;
  if (blockIdx.x == 0) {
    data[0] = 5;
    __threadfence();
  }
  if (blockIdx.x > 0) {
    int* flag = flags + blockIdx.x - 1;
    do asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    while (seen == 0);
  }
  if (blockIdx.x < 2) asm volatile("st.relaxed.gpu.global.b32 [%0], 1;" ::"l"(flags + blockIdx.x) : "memory");
  if (blockIdx.x == 2) out[0] = data[0];
}
