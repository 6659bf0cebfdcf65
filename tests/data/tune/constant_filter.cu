// A filter along a signal, with its taps in __constant__ memory. With UNIT_GAIN the kernel does not read the gain.
constexpr int taps = 33;

__constant__ float d_filter[taps];
__constant__ float d_gain;

__global__ void filter_kernel(float* output, const float* input, int length) {
  constexpr int span = block_size * per_thread;
  __shared__ float window[span + taps - 1];
  const int first = blockIdx.x * span;
  for (int i = threadIdx.x; i < span + taps - 1; i += block_size)
    window[i] = first + i < length + taps - 1 ? input[first + i] : 0.0f;
  __syncthreads();

  for (int place = threadIdx.x; place < span && first + place < length; place += block_size) {
    float sum = 0;
#pragma unroll
    for (int tap = 0; tap < taps; tap++) sum = fmaf(window[place + tap], d_filter[tap], sum);
#if UNIT_GAIN
    output[first + place] = sum;
#else
    output[first + place] = sum * d_gain;
#endif
  }
}

__global__ void filter_naive(float* output, const float* input, int length) {
  for (int place = blockIdx.x * blockDim.x + threadIdx.x; place < length; place += gridDim.x * blockDim.x) {
    double sum = 0;
    for (int tap = 0; tap < taps; tap++) sum += (double)input[place + tap] * d_filter[tap];
    output[place] = (float)(sum * d_gain);
  }
}
