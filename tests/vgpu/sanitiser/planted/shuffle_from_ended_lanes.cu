// run: --block 32 --arg out=double[32]:unset --arg in=double[20]:normal
// finds: uninitialised line 7: takes the value of lane 20
// Lanes beyond the row have left; the others still read them.
__global__ void neighbour_sums(double* out, const double* in) {
  const int t = threadIdx.x;
  if (t >= 20) return;
  const double next = __shfl_down_sync(0xffffffffu, in[t], 1);
  out[t] = in[t] + next;
}
