// run: --block 32 --arg out=float[32]:unset --arg in=float[96]:iota
// Points of three words lie four apart; the fourth word is loaded and never used.
__global__ void lengths(float* out, const float* in) {
  __shared__ float4 points[32];
  const int lane = threadIdx.x;
  points[lane].x = in[lane * 3];
  points[lane].y = in[lane * 3 + 1];
  points[lane].z = in[lane * 3 + 2];
  __syncwarp();
  const float4 p = points[31 - lane];
  out[lane] = p.x * p.x + p.y * p.y + p.z * p.z;
}
