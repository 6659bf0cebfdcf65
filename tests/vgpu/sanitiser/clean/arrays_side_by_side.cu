// run: --block 64 --smem 1024 --arg out=float[64]:unset --arg x=float[64]:normal
// Arrays beside each other, addressed in all the ways that stay inside: from their ends backwards, to one behind the
// end without a read, by pointers that change sides in a loop, by aligned and swizzled addresses, by other types.
struct Pair { float first[64]; float second[64]; };
__global__ void walk(float* out, const float* x) {
  __shared__ float front[64], back[64];
  __shared__ Pair pair;
  __shared__ __align__(128) unsigned char raw[512 + 128];
  extern __shared__ float dynamic[];
  float* const lower = dynamic;
  float* const upper = dynamic + 64;       // carved: what is behind `lower` is `upper`
  const int t = threadIdx.x;
  front[t] = back[t] = x[t];
  pair.first[t] = x[t], (&pair.first[0])[64 + t] = 2 * x[t];
  lower[t] = x[t], upper[63 - t] = 3 * x[t];
  unsigned char* const aligned = reinterpret_cast<unsigned char*>((reinterpret_cast<size_t>(raw) + 127) & ~size_t{127});
  *reinterpret_cast<float*>(aligned + ((4 * t) ^ (t / 8 * 16 & 0x70))) = x[t];
  __syncthreads();
  float* from = front;
  float* to = back;
  for (int round = 0; round < 5; ++round) {
    const float next = from[(t + 1) % 64];
    __syncthreads();
    to[t] = next + 1;
    __syncthreads();
    float* const other = from;
    from = to, to = other;
  }
  float sum = from[t];
  for (const float* p = front; p != front + 64; ++p) sum += *p;      // ends one behind the array
  for (const float* p = back + 64; p != back;) sum += *--p;           // begins there
  const float* const last = &back[63];
  sum += last[-t] + upper[t - 64] + pair.second[t];                   // offsets that end inside
  const long long apart = upper - lower;
  sum += lower[apart + t] + *reinterpret_cast<float*>(aligned + ((4 * t) ^ (t / 8 * 16 & 0x70)));
  out[t] = sum;
}
