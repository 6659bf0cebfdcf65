// run: --grid 2 --block 32 --arg out=float[64]:zeros --arg in=float[64]:iota
// finds: race line 7: with block (0, 0, 0), thread (0, 0, 0)'s st.global.f32 in line 6 (a write): nothing orders them
// The second block relies on the first one having run.
__global__ void chain(float* out, const float* in) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  out[i] = in[i];
  if (blockIdx.x == 1) out[i] = out[i - 32] + 1.0f;
}
