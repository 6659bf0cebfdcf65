// run: --block 32 --arg out=int[32]:unset --arg w=int[32]:unset
// finds: uninitialised line 4: which nobody has written
__global__ void high(int* out, const unsigned* w) {
  out[threadIdx.x] = w[threadIdx.x] >> 8;
}
