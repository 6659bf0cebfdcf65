// run: --grid 4 --block 32 --arg total=int[1]:zeros --arg out=int[4]:unset
// finds: race line 7: st.global.u32 in line 6 (a write)
// The first block clears the sum that all blocks add to. Its own addition comes in between.
__global__ void sum(int* total, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) *total = 0;
  out[blockIdx.x] = atomicAdd(total, 1);
}
