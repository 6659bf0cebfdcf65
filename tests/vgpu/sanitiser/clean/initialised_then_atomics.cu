// run: --grid 3 --block 128 --arg out=int[384]:unset --arg total=int[1]:zeros
// A plain write, a barrier, atomics of all threads, a barrier, plain reads: again and again.
__global__ void count(int* out, int* total) {
  __shared__ int count;
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) count = round;
    __syncthreads();
    atomicAdd(&count, 1);
    if (round == 1) atomicExch(&count, atomicAdd(&count, 0));
    __syncthreads();
    sum += count > 0;
    __syncthreads();
  }
  out[blockIdx.x * 128 + threadIdx.x] = sum;
  if (threadIdx.x == 0) atomicAdd(total, sum);
}
