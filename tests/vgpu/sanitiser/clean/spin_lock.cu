// run: --grid 4 --block 32 --arg lock=int[1]:zeros --arg total=int[1]:zeros
// One thread of each block adds while it holds a lock.
__global__ void add(int* lock, int* total) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *total += 1;
  __threadfence();
  atomicExch(lock, 0);
}
