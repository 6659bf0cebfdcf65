// run: --block 32 --arg out=int[1]:zeros
// finds: uninitialised line 6: which nobody has written
// Both sides are unwritten: neither decides alone, whatever their memory holds.
__global__ void both(int* out) {
  __shared__ int a[32], b[32];
  if (a[threadIdx.x] & b[threadIdx.x] & 4) *out = 1;
  if (out == nullptr) a[threadIdx.x] = b[31 - threadIdx.x] = 1;
}
