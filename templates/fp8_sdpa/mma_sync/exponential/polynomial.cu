// A cubic on the FMA pipe: leaves the multi-function unit idle, which is the narrow one at D = 64.
__device__ __forceinline__ float exp2_even(float y) { return exp2_polynomial(y); }
__device__ __forceinline__ float exp2_odd(float y) { return exp2_polynomial(y); }

#include "f32.cuh"
