// run: --block 32 --arg w=int[32]:unset
// finds: uninitialised line 5: which nobody has written
// The bits go back to the word that they come from, but not to their places: no bit field does that.
__global__ void halve(unsigned* w) {
  w[threadIdx.x] = w[threadIdx.x] >> 8;
}
