// run: --block 64 --arg x=uint8[256]:iota --arg y=uint8[256]:zeros
// Bytes that are read through the read-only cache lie beside others that are written, in the same words.
__global__ void odd_from_even(unsigned char* x, unsigned char* y) {
  const int i = 4 * threadIdx.x;
  x[i + 1] = __ldg(x + i);
  x[i + 3] = __ldg(x + i + 2);
  y[i] = x[i + 1];  // Written by this kernel: a plain load.
}
