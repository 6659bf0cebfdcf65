// run: --block 32 --arg out=int[1]:unset
// finds: uninitialised line 5: changes 4 bytes at
// Counts with a counter that was not set to zero.
__global__ void count(int* out) {
  atomicAdd(out, 1);
}
