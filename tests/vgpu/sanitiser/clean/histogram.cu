// run: --grid 4 --block 128 --arg counts=int[256]:zeros --arg in=uchar[4096]:bits --arg int:4096
// Atomics in shared memory, then in global memory.
__global__ void histogram(int* counts, const unsigned char* in, int n) {
  __shared__ int mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], mine[i]);
}
