    const unsigned char* __restrict__ q, const unsigned char* __restrict__ k, const unsigned char* __restrict__ v,
    const float* __restrict__ q_scales, const float* __restrict__ k_scales, const float* __restrict__ v_scales,
    const unsigned char* __restrict__ q_zeros, const unsigned char* __restrict__ k_zeros,
    const unsigned char* __restrict__ v_zeros, half_bits* __restrict__ o, float* __restrict__ partial_o,
    float2* __restrict__ partial_statistics, float softmax_scale, int M, int N, int heads
