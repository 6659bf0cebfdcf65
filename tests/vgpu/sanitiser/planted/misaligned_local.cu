// run: --block 2 --arg out=int2[2]:unset --arg at=int[2]:iota
// finds: bad_access line 7: reads 8 bytes at a misaligned address
// Loads of pairs from any index.
__global__ void load(int2* out, const int* at) {
  int table[4];
  for (int i = 0; i < 4; ++i) table[at[i & 1] + (i & 2)] = i;
  out[threadIdx.x] = *reinterpret_cast<const int2*>(table + at[threadIdx.x]);
}
