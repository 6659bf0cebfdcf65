// run: --grid 3 --block 32 --arg total=int[32]:zeros --arg ticket=unsigned[1]:zeros --arg out=int[32]:unset
// finds: race line 11: (a write): nothing orders them
// The sums are atomic, but nothing orders another block's addition before the plain load of the last block.
__global__ void sum(int* total, unsigned* ticket, int* out) {
  __shared__ bool last;
  atomicAdd(&total[threadIdx.x], threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(ticket, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    out[threadIdx.x] = total[threadIdx.x];
  }
}
