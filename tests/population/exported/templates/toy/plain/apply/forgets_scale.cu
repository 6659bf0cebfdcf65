__device__ __forceinline__ float element(float code, float, float sum) { return code + sum; }
