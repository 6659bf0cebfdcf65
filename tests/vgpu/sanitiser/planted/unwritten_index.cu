// run: --block 32 --arg out=int[32]:unset --arg in=int[32]:iota
// finds: uninitialised line 8: which nobody has written
// An unwritten value after the indices is used as an index.
__global__ void gather(int* out, const int* in) {
  __shared__ unsigned indices[33];
  indices[threadIdx.x] = threadIdx.x;
  __syncwarp();
  const unsigned index = indices[threadIdx.x + 1] & 31;
  out[threadIdx.x] = in[index];
}
