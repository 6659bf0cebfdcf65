// run: --block 32 --arg out=float[32]:unset --arg in=float[32]:iota
// finds: race line 8: no __syncwarp
// Lanes of a warp need not run in step since Volta.
__global__ void rotate(float* out, const float* in) {
  __shared__ float tile[32];
  const int i = threadIdx.x;
  tile[i] = in[i];
  out[i] = tile[(i + 1) % 32];
}
