// run: --block 64 --arg y=float[64]:unset
// finds: stale_read line 8: st.global.f32 in line 6
// A table in global memory that the kernel fills itself.
__device__ float table[64];
__global__ void fill_and_read(float* y) {
  table[threadIdx.x] = threadIdx.x * 0.5f;
  __syncthreads();
  y[threadIdx.x] = __ldg(table + 63 - threadIdx.x);
}
