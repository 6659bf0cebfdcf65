// run: --block 128 --arg out=float[128]:unset --arg q=float[96]:normal
// finds: uninitialised line 13: reads 4 bytes at byte 384 of 'score' (shared memory, 512 bytes), which nobody has written
// Only some lanes fill the scores; the softmax reads all of them.
__global__ void softmax(float* out, const float* q) {
  __shared__ float score[128];
  const int i = threadIdx.x;
  if (i < 96) {
    score[i] = q[i];
  }
  __syncthreads();
  float top = -1e30f;
  for (int k = 0; k < 128; ++k) {
    top = fmaxf(top, score[k]);
  }
  out[i] = i < 96 ? expf(score[i] - top) : 0.0f;
}
