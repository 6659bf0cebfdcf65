// run: --block 32 --arg out=float[32]:unset --arg in=float[32]:ones
// finds: uninitialised line 5: at byte 0 of 'out'
// Adds to an output that was not set to zero.
__global__ void add(float* out, const float* in) {
  out[threadIdx.x] += in[threadIdx.x];
}
