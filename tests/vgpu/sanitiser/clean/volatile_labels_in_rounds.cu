// run: --grid 2 --block 32 --arg label=int[64]:iota --arg int:4
// Labels spread in rounds until nothing changes: a round that reads an old one is followed by another.
__global__ void spread(volatile int* label, int rounds) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    const int mine = label[i];
    const int other = label[(i + 63 - round) % 64];
    if (other < mine) label[i] = other;
  }
}
