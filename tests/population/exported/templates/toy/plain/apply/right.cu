__device__ __forceinline__ float element(float code, float scale, float sum) { return code * scale + sum; }
