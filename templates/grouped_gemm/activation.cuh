#pragma once
// What is made of the sums: an expert's weights are one matrix, or two (gate and up) of whose products one number is
// made.
enum class Activation { none, silu_mul };
constexpr Activation activation = Activation::${act};
constexpr int parts = activation == Activation::silu_mul ? 2 : 1;  // matrices of an expert

__device__ __forceinline__ float activated(float gate, float up) { return gate / (1.0f + __expf(-gate)) * up; }
