// One CTA counts by atomics in global memory.
typedef ${dtype == 'u8' ? 'unsigned char' : 'float'} Element;

// The bin of an element, or -1.
__device__ int bin_of(unsigned char element, float, float) { return element; }
__device__ int bin_of(float element, float low, float high) {
  if (!(element >= low && element <= high)) return -1;
  const float scale = ${K}.0f / (high - low);
  return min((int)(__fmul_rn(__fsub_rn(element, low), scale)), ${K} - 1);
}

extern "C" __global__ void histogram_reference(const Element* x, int* count, int N, float low, float high) {
  for (int bin = threadIdx.x; bin < ${K}; bin += 1024) count[bin] = 0;
  __syncthreads();
  for (long long i = threadIdx.x; i < N; i += 1024) {
    const int bin = bin_of(x[i], low, high);
    if (bin >= 0) atomicAdd(count + bin, 1);
  }
}
