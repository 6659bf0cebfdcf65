// run: --grid 2 --block 32 --arg data=int[1]:zeros --arg out=int[1]:unset
// finds: race line 8: block (0, 0, 0), thread (0, 0, 0)'s st.volatile.global.u32 in line 6
// Volatile orders nothing: the second block reads the value, or what was there before.
__global__ void hand_over(volatile int* data, int* out) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    data[0] = 1;
  } else if (threadIdx.x == 0) {
    out[0] = data[0];
  }
}
