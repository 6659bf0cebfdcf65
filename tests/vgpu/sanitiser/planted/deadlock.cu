// run: --block 64 --arg out=float[64]:zeros
// finds: deadlock: wait in bar.sync (line 6) at barrier 1, where 32 of 64 threads have arrived
// The second warp waits at another barrier.
__global__ void stuck(float* out) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  out[threadIdx.x] = 1;
}
