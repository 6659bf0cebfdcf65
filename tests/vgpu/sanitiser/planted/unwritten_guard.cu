// run: --block 32 --arg out=int[32]:zeros --arg in=int[32]:iota
// finds: uninitialised line 8: which nobody has written
// An unwritten value decides which lanes store; lanes that it keeps from storing count too.
__global__ void mark(int* out, const int* in) {
  __shared__ int tile[33];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  const int next = tile[threadIdx.x + 1];
  asm volatile("{ .reg .pred p; setp.eq.b32 p, %1, 123456; @p st.global.b32 [%0], 1; }" ::"l"(out + threadIdx.x), "r"(next) : "memory");
}
