// run: --block 32 --arg out=float[32]:unset --arg at=int[32]:iota
// finds: bad_access line 7: of local memory, which has 32 bytes
// The index leaves the array.
__global__ void pick(float* out, const int* at) {
  float table[8];
  for (int i = 0; i < 8; ++i) table[at[i]] = i;
  out[threadIdx.x] = table[at[threadIdx.x]];
}
