// run: --block 32 --arg out=float[32]:unset --arg in=float[32]:iota
// finds: uninitialised line 10: of 'slot'
// Lanes that have not filled their slot select it all the same.
__global__ void odd(float* out, const float* in) {
  __shared__ float slot[128];
  const int lane = threadIdx.x;
  if (lane % 2 == 0) slot[lane] = in[lane] * 2;
  __syncwarp();
  const bool taken = lane % 3 == 0;
  const float value = slot[lane];
  out[lane] = (taken ? value : -1.0f) + 1.0f;
}
