// run: --grid 2 --block 32 --arg flag=int[1]:zeros --arg data=int[1]:zeros --arg out=int[1]:unset
// finds: race line 13: block (0, 0, 0), thread (0, 0, 0)'s st.volatile.global.u32 in line 7
// The fence reaches the writer's own block only.
__global__ void hand_over(int* flag, volatile int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 7;
    __threadfence_block();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    out[0] = data[0];
  }
}
