// run: --block 32 --arg scores=float[32]:unset --arg q=float[32,64]:normal --arg k=float[32,64]:normal
// finds: race line 14: line 11
// Each lane has its own row, but the reduction over the warp sums values of 32 different rows.
__global__ void row_dots(float* scores, const float* q, const float* k) {
  __shared__ float partial[32];
  const int lane = threadIdx.x;
  const int row = lane;
  float sum = 0;
  for (int d = 0; d < 64; ++d) sum += q[row * 64 + d] * k[row * 64 + d];
  // The reduction tree of a row, on partial sums of all rows.
  partial[lane] = sum;
  for (int step = 16; step > 0; step /= 2) {
    // Without a barrier the lanes of one step meet those of the next.
    if (lane < step) partial[lane] += partial[lane + step];
  }
  scores[row] = partial[0];
}
