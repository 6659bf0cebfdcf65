// run: --block 16 --arg out=float[16]:unset --arg x=float[64]:normal
// finds: bad_access line 11: of them behind the end of 'tile'
// A vector begins in its array and ends in the next one.
__global__ void sums(float* out, const float* x) {
  __shared__ __align__(16) float tile[62];
  __shared__ __align__(8) float rest[64];
  const int t = threadIdx.x;
  for (int i = t; i < 62; i += 16) tile[i] = x[i];
  for (int i = t; i < 64; i += 16) rest[i] = x[i];
  __syncwarp();
  const float4 four = *reinterpret_cast<const float4*>(tile + 4 * t);
  out[t] = four.x + four.y + four.z + four.w + rest[t];
}
