//% if split_k > 1
// Adds the parts of a sum whose depth split_k CTAs have shared, always in the same order; a thread has four elements.
extern "C" __global__ void __launch_bounds__(256)
    gemm_bf16_reduce(const float* __restrict__ partial, Output* __restrict__ c, int M, int N) {
  overlap_launches();
  const long long elements = (long long)M * N;
  const long long first = ((long long)blockIdx.x * 256 + threadIdx.x) * 4;
  if (first >= elements) return;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int split = 0; split < split_k; ++split) {
    const float4 part = *(const float4*)(partial + split * elements + first);
    sum.x += part.x;
    sum.y += part.y;
    sum.z += part.z;
    sum.w += part.w;
  }
  store_four(c + first, sum);
}
//% end
