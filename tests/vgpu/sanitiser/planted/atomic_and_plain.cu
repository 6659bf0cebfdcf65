// run: --grid 2 --block 32 --arg count=int[1]:zeros
// finds: race line 6: 
// An atomic addition and a plain one of the same counter.
__global__ void count_up(int* count) {
  if (blockIdx.x == 0) atomicAdd(count, 1);
  if (blockIdx.x == 1 && threadIdx.x == 0) *count += 1;
}
