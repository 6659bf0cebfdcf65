// Forces between bodies, whose places pass through shared memory.
// evo: launch nbody<<<ceil_div(N, TILE), TILE>>>(force=out float[N,4], body=float[N,4], N)
// evo: size N=300
#define TILE 64

extern "C" __global__ void nbody(float4* force, const float4* body, int n) {
  __shared__ float4 tile[TILE];
  const int i = blockIdx.x * TILE + threadIdx.x;
  const float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
  float4 sum = make_float4(0, 0, 0, 0);
  for (int first = 0; first < n; first += TILE) {
    tile[threadIdx.x] = first + threadIdx.x < n ? body[first + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < TILE && first + k < n; ++k) {
      const float x = tile[k].x - me.x, y = tile[k].y - me.y, z = tile[k].z - me.z;
      const float inverse = rsqrtf(x * x + y * y + z * z + 0.01f);
      const float weight = tile[k].w * inverse * inverse * inverse;
      sum.x += x * weight;
      sum.y += y * weight;
      sum.z += z * weight;
    }
    __syncthreads();
  }
  if (i < n) force[i] = sum;
}
