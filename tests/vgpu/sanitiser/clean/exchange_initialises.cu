// run: --block 32 --arg flag=int[1]:unset --arg out=int[32]:unset
// What an exchange finds is thrown away: it is a store.
__global__ void start(int* flag, int* out) {
  if (threadIdx.x == 0) atomicExch(flag, 7);
  __syncthreads();
  out[threadIdx.x] = atomicAdd(flag, 0);
}
