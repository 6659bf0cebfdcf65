// run: --block 64 --arg out=int[32]:unset
// finds: race line 20: a race with thread
// One lane acquires the other warp's write; nothing orders the other lanes after it.
#include <cuda/atomic>

__global__ void hand_over(int* out) {
  __shared__ int tile[32];
  __shared__ cuda::atomic<int, cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) ready.store(0);
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = threadIdx.x;
    __syncwarp();
    if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
    return;
  }
  if (threadIdx.x == 32) {
    while (ready.load(cuda::memory_order_acquire) == 0) {}
  }
  out[threadIdx.x - 32] = tile[threadIdx.x - 32];
}
