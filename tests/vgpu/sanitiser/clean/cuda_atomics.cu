// run: --grid 2 --block 32 --arg data=int[32]:unset --arg flag=int[1]:zeros --arg out=int[32]:unset
// One block hands its numbers to the next one: release and acquire.
#include <cuda/atomic>
__global__ void hand_over(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
  } else {
    if (threadIdx.x == 0)
      while (ready.load(cuda::std::memory_order_acquire) == 0) {
      }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x];
  }
}
