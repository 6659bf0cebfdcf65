// run: --block 32 --arg out=float[31]:unset
// finds: bad_access line 5: writes 4 bytes at
// One thread too many.
__global__ void fill(float* out) {
  out[threadIdx.x] = 1;
}
