// run: --block 32 --arg out=float[32]:unset --arg at=int[32]:iota
// finds: uninitialised line 8: of local memory, which nobody has written
// Half of the array is never filled, and the index is not known to the compiler.
__global__ void pick(float* out, const int* at) {
  float table[32];
  for (int i = 0; i < 16; ++i) table[at[i]] = i * 0.5f;
  if (at[0] > 1000) table[at[31]] = 7;
  out[threadIdx.x] = table[at[threadIdx.x]];
}
