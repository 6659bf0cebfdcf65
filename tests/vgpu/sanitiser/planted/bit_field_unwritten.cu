// run: --block 32 --arg out=int[32]:unset
// finds: uninitialised line 13: of 'flags'
// One field is written, its neighbour in the same byte is read.
struct Item {
  unsigned char seen : 1, left : 1;
};
__global__ void mark(int* out) {
  __shared__ Item flags[32];
  const int i = threadIdx.x;
  flags[i].left = i & 1;
  __syncwarp();
  const int j = 31 - i;
  out[i] = flags[j].seen ? 1 : 2;
}
