// On the multi-function unit, one result each: 16 a clock and SM.
__device__ __forceinline__ float exp2_even(float y) { return exp2_approximate(y); }
__device__ __forceinline__ float exp2_odd(float y) { return exp2_approximate(y); }

#include "f32.cuh"
