// run: --grid 3 --block 32 --strict --arg flags=int[2]:zeros --arg data=int[1]:unset --arg out=int[1]:unset
// The second block sees the first one's flag and sets its own. Who sees that has the first one's data, too.
__device__ int load(int* at) {
  int value;
  asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ void store(int* at, int value) {
  asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__global__ void hand_on(int* flags, int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) data[0] = 5;
  if (blockIdx.x > 0)
    while (load(flags + blockIdx.x - 1) == 0) {
    }
  __threadfence();
  if (blockIdx.x < 2) store(flags + blockIdx.x, 1);
  if (blockIdx.x == 2) out[0] = data[0];
}
