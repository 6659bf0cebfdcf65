// run: --block 32 --arg out=int[1]:unset
// finds: uninitialised line 5: changes 4 bytes at
// Counts on a counter that nobody has set to zero.
__global__ void count(int* out) {
  atomicAdd(out, 1);
}
