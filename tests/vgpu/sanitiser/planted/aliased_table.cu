// run: --block 64 --smem 1024 --arg out=float[256]:unset --arg in=uchar[256]:bits
// finds: race line 13: line 11
// The scratch array begins where the table is still being read.
extern __shared__ float smem[];
__global__ void decode(float* out, const unsigned char* in) {
  float* table = smem;
  float* scratch = smem + 192;
  for (int i = threadIdx.x; i < 256; i += 64) table[i] = i * 0.5f;
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) {
    const float value = table[in[i]];
    out[i] = value;
    scratch[threadIdx.x] = value;
  }
}
