// run: --block 64 --arg out=int[64]:unset
// finds: race line 6: st.shared.u32 in line 5 (a write)
__global__ void count(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  atomicAdd(&count, 1);
  __syncthreads();
  out[threadIdx.x] = count;
}
