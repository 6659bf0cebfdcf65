// run: --block 32 --arg out=int[32]:unset --arg in=int[32]:iota
// The slot after the last value is loaded, and no lane selects it.
__global__ void larger_neighbour(int* out, const int* in) {
  __shared__ int tile[33];
  const int lane = threadIdx.x;
  tile[lane] = in[lane] * 7 % 32;
  __syncwarp();
  const int own = tile[lane], next = tile[lane + 1] + 1;
  out[lane] = lane < 31 && next > own ? next : own;
}
