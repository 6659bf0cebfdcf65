// run: --block 64 --arg out=float[64]:unset --arg in=float[64]:iota --arg int:40
// Lanes past the end load unwritten values, and their guard keeps them from storing these.
__global__ void reverse(float* out, const float* in, int n) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  if (i < n) tile[i] = in[i];
  __syncthreads();
  const float value = tile[63 - i];
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p st.global.f32 [%0], %1; }" ::"l"(out + i), "f"(value), "r"((int)(63 - i < n)) : "memory");
}
