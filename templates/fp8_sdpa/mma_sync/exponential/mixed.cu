// Every second weight on the multi-function unit, the others on the FMA pipe, so that both work.
__device__ __forceinline__ float exp2_even(float y) { return exp2_approximate(y); }
__device__ __forceinline__ float exp2_odd(float y) { return exp2_polynomial(y); }

#include "f32.cuh"
