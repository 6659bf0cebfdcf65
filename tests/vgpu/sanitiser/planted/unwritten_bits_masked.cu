// run: --block 32 --arg out=int[32]:unset --arg w=int[64]:unset
// finds: uninitialised line 7: of 'w'
// A part of the bits leaves. The words beside them are written: they may be padding, but nobody masks padding.
__global__ void mask(int* out, int* w) {
  const int i = threadIdx.x;
  w[2 * i + 1] = i;
  out[i] = w[2 * i] & 15;
}
