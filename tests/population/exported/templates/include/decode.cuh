__device__ __forceinline__ double decode(unsigned char code) { return (signed char)code; }
