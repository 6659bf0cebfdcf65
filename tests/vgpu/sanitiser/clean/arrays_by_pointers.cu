// run: --block 32 --arg out=float[32]:unset --arg x=float[96]:normal
// Addresses of several arrays that meet: in a table in memory, in one function's argument, in a variable that begins as
// the address of one array and goes on as one that memory holds.
struct Node { const float* at; int next; };
__device__ __noinline__ float at(const float* p, int i) { return p[i]; }
__global__ void lists(float* out, const float* x) {
  __shared__ float first[32], second[32], third[32];
  __shared__ Node nodes[3];
  const int t = threadIdx.x;
  first[t] = x[t], second[t] = x[32 + t], third[t] = x[64 + t];
  if (t == 0) nodes[0] = {second, 1}, nodes[1] = {third, 2}, nodes[2] = {first, 0};
  __syncwarp();
  const float* from = first;
  float sum = 0;
  int next = t % 3;
  for (int i = 0; i < 6; ++i) {
    sum += from[31 - t] + at(from, t);
    from = nodes[next].at;
    next = nodes[next].next;
  }
  const float* const none = nullptr;
  const float* const chosen = x[t] < 0 ? third : none;
  if (chosen != none) sum += chosen[t];
  sum += at(t & 1 ? second : third, 31);
  out[t] = sum;
}
