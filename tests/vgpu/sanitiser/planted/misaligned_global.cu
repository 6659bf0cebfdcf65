// run: --block 2 --arg out=float4[2]:unset --arg in=float[12]:iota
// finds: bad_access line 5: reads 16 bytes at a misaligned address
// A load of four floats from an odd index.
__global__ void load(float4* out, const float* in) {
  out[threadIdx.x] = *reinterpret_cast<const float4*>(in + threadIdx.x + 1);
}
