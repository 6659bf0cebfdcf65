// run: --block 32 --arg out=int[32]:unset
// finds: uninitialised line 6: of 'flags'
// A byte that nobody has written leaves in a whole word.
__global__ void widen(int* out) {
  __shared__ unsigned char flags[64];
  out[threadIdx.x] = flags[threadIdx.x];
  if (out == nullptr) flags[threadIdx.x] = 1;
}
