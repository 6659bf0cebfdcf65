// run: --block 32 --arg out=float[32]:unset --arg in=float[32]:iota
// Only even lanes fill their slot, and only they select it; the others take a number.
__global__ void even(float* out, const float* in) {
  __shared__ float slot[32];
  const int lane = threadIdx.x;
  const bool mine = lane % 2 == 0;
  if (mine) slot[lane] = in[lane] * 2;
  __syncwarp();
  const float value = slot[lane];
  out[lane] = mine ? value : -1.0f;
}
