// run: --grid 2 --block 32 --strict --arg label=int[64]:iota --arg int:4
// finds: unordered_volatile line 8: thread (1, 0, 0)'s st.volatile.global.u32 in line 9
// Labels spread in rounds. What a round reads depends on which block comes first.
__global__ void spread(volatile int* label, int rounds) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    const int mine = label[i];
    const int other = label[(i + 63 - round) % 64];
    if (other < mine) label[i] = other;
  }
}
