// run: --block 32 --arg out=int[32]:unset --arg {int:1;int:2;int:3;int:4} --arg at=int[32]:iota
// finds: bad_access line 7: of the kernel's parameters
// Indexes a struct that was passed by value.
struct Four { int v[4]; };
__global__ void pick(int* out, const __grid_constant__ Four four, const int* at) {
  const int* v = four.v;
  out[threadIdx.x] = v[at[threadIdx.x] * 2];
}
