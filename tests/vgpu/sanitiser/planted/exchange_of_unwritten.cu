// run: --block 32 --arg flag=int[1]:unset --arg out=int[32]:unset
// finds: uninitialised line 5: takes 4 bytes at
// A lock that nobody has opened: whether it is free decides.
__global__ void enter(int* flag, int* out) {
  const bool free = threadIdx.x == 0 && atomicExch(flag, 1) == 0;
  if (free) out[0] = 1;
}
