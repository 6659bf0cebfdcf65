// run: --block 64 --arg out=float[64]:unset --arg in=float[64]:iota
// finds: race line 8: with thread (31, 0, 0)'s st.shared.f32 in line 7 (a write): no barrier lies between them
// finds: uninitialised line 8: of 'tile'
__global__ void shift(float* out, const float* in) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  tile[i] = in[i];
  out[i] = i % 32 == 0 ? tile[(i + 63) % 64] : in[i];
}
