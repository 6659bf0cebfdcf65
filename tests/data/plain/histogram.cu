// Counts bytes in shared memory, then in global memory.
// evo: launch histogram<<<16, 256>>>(counts=inout int[256], x=u8[N], N)
// evo: size N=10001
__global__ void histogram(int* counts, const unsigned char* x, int n) {
  __shared__ int mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[x[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], mine[i]);
}
