// run: --block 64 --arg out=float[64]:unset
// finds: divergent_barrier line 6: lanes 0x0000ffff of the warp are here without 0xffff0000
// finds: deadlock: wait in bar.sync (line 8) at barrier 2, where 32 of 64 threads have arrived
// Each half of a warp waits at a barrier of its own.
__global__ void halves(float* out) {
  if (threadIdx.x % 32 < 16) asm volatile("bar.sync 1, 64;" ::: "memory");
  else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  out[threadIdx.x] = 1;
}
