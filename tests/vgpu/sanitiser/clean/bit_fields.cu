// run: --block 32 --strict --arg items=int[32]:unset --arg out=int[32]:unset
// A field is written by its bits. The others of its bytes stay unwritten, and nobody uses them.
struct Item {
  unsigned char seen : 1, left : 1;
};
__global__ void mark(unsigned* items, int* out) {
  __shared__ Item flags[32];
  __shared__ unsigned words[32];
  const int i = threadIdx.x;
  flags[i].left = i & 1;
  words[i] = (words[i] & ~0xf0u) | (i & 15u) << 4;
  items[i] = (items[i] & 0xfff000ffu) | i << 8;
  __syncwarp();
  const int j = 31 - i;
  out[i] = (flags[j].left ? 1 : 2) + (words[j] >> 4 & 15u) + (items[j] >> 8 & 31u);
}
